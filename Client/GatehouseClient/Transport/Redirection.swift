import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What follows a response that sends a client elsewhere (RFC 9110 §15.4).
///
/// Within an origin a request goes on with all that it carries. To another one only a GET or HEAD goes, without
/// credentials; anything else could hold a password or a token in its body.
enum Redirection {
    /// As many are followed, one after the other.
    static let most = 5

    private static let credentials = ["Authorization", "Proxy-Authorization", "Cookie"]

    /// The request that comes next; `nil` where the response itself is the answer.
    static func next(after request: URLRequest, _ response: HTTPURLResponse) -> URLRequest? {
        guard [301, 302, 303, 307, 308].contains(response.statusCode), request.httpBodyStream == nil,
            let location = response.value(forHTTPHeaderField: "Location"), let url = request.url,
            let target = URL(string: location, relativeTo: url)?.absoluteURL,
            let origin = Origin(url), let targetOrigin = Origin(target)
        else { return nil }

        var next = request
        next.url = target
        let method = request.httpMethod ?? "GET"
        if origin != targetOrigin {
            // From https to http never: there anybody reads what is asked for.
            guard ["GET", "HEAD"].contains(method), targetOrigin.isEncrypted || !origin.isEncrypted else { return nil }
            for field in credentials { next.setValue(nil, forHTTPHeaderField: field) }
            return next
        }
        let status = response.statusCode
        if status == 303 && method != "HEAD" || [301, 302].contains(status) && method == "POST" {
            next.httpMethod = "GET"
            next.httpBody = nil
            for field in ["Content-Type", "Content-Length"] { next.setValue(nil, forHTTPHeaderField: field) }
        }
        return next
    }
}
