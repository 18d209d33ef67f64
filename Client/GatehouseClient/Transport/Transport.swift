public import Foundation

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// Sends requests to the server and returns their responses.
///
/// Only ``send(_:)`` is required. The other methods are built on it by default, in memory. Cancelling the task cancels
/// the request. Network errors are thrown unchanged, usually as `URLError`. A transport must never forward a request
/// with a bearer to another origin.
public protocol GatehouseTransport: Sendable {
    /// Sends `request` and returns the whole response, whatever its status.
    func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse)

    /// Sends `request` with the content of `file` as its body.
    func upload(_ request: URLRequest, fromFile file: URL) async throws -> (Data, HTTPURLResponse)

    /// Sends `request` and writes the response's body to a new file, which then belongs to the caller.
    func download(_ request: URLRequest) async throws -> (URL, HTTPURLResponse)

    /// Sends `request` and returns when the response's head has arrived. The body follows in pieces.
    func stream(_ request: URLRequest) async throws -> (AsyncThrowingStream<Data, any Error>, HTTPURLResponse)

    /// Returns a web socket that is not open yet.
    func webSocketTask(with request: URLRequest) throws -> URLSessionWebSocketTask
}

extension GatehouseTransport {
    public func upload(_ request: URLRequest, fromFile file: URL) async throws -> (Data, HTTPURLResponse) {
        var request = request
        request.httpBody = try Data(contentsOf: file)
        return try await send(request)
    }

    public func download(_ request: URLRequest) async throws -> (URL, HTTPURLResponse) {
        let (data, response) = try await send(request)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try data.write(to: file)
        return (file, response)
    }

    public func stream(_ request: URLRequest) async throws -> (AsyncThrowingStream<Data, any Error>, HTTPURLResponse) {
        let (data, response) = try await send(request)
        let pieces = AsyncThrowingStream<Data, any Error> { continuation in
            continuation.yield(data)
            continuation.finish()
        }
        return (pieces, response)
    }

    public func webSocketTask(with request: URLRequest) throws -> URLSessionWebSocketTask {
        throw GatehouseError(.misuse, reason: "\(Self.self) has no web sockets")
    }
}

/// The request that follows a redirect (RFC 9110 §15.4).
///
/// Within an origin, a redirected request keeps all its fields. To another origin, only a GET or HEAD is redirected,
/// without credentials. Other methods could carry a password or a token in the body.
enum Redirection {
    /// The limit of consecutive redirects.
    static let most = 5

    private static let credentials = ["Authorization", "Proxy-Authorization", "Cookie"]

    /// Returns the next request; `nil` if the response itself is the answer.
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
            // Never from https to http, where an attacker on the network could read the request.
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

/// A server's identity: scheme, host and port (RFC 6454 §4).
///
/// Hosts are compared byte by byte after folding ASCII letters. There is no further normalization: a trailing dot or a
/// percent-encoded letter makes a host different.
struct Origin: Hashable, Sendable, CustomStringConvertible {
    let isEncrypted: Bool
    let host: [UInt8]
    let port: Int

    /// - Returns: `nil` if the URL is not one of HTTP or web sockets, has no host, or contains a user name, which can
    ///   deceive a reader about the host.
    init?(_ url: URL) {
        guard let scheme = url.scheme, url.user == nil, url.password == nil else { return nil }
        switch scheme.lowercased() {
        case "https", "wss": isEncrypted = true
        case "http", "ws": isEncrypted = false
        default: return nil
        }
        guard let host = url.host(percentEncoded: true), !host.isEmpty else { return nil }
        self.host = Self.folded(host)
        port = url.port ?? (isEncrypted ? 443 : 80)
    }

    var description: String {
        "\(isEncrypted ? "https" : "http")://\(String(decoding: host, as: UTF8.self)):\(port)"
    }

    static func folded(_ host: String) -> [UInt8] {
        host.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    }
}
