public import Foundation

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// What carries requests to the server and their responses back.
///
/// Only ``send(_:)`` has to be there: by default the rest is made of it, in memory. Whoever cancels the task gives the
/// request up. What the network says is thrown as it is, as a rule as `URLError`. A request that carries a bearer is
/// never sent on to another origin.
public protocol Transport: Sendable {
    /// Sends `request` and returns the whole response, whatever its status.
    func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse)

    /// Sends `request` with what `file` holds as its body.
    func upload(_ request: URLRequest, fromFile file: URL) async throws -> (Data, HTTPURLResponse)

    /// Sends `request` and writes the response's body to a new file, which then belongs to the caller.
    func download(_ request: URLRequest) async throws -> (URL, HTTPURLResponse)

    /// Sends `request` and returns as soon as the response's head is there; its body comes piece by piece.
    func stream(_ request: URLRequest) async throws -> (AsyncThrowingStream<Data, any Error>, HTTPURLResponse)

    /// A web socket that has not been opened yet.
    func webSocketTask(with request: URLRequest) throws -> URLSessionWebSocketTask
}

extension Transport {
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

/// What decides whether two addresses belong to the same server: scheme, host and port (RFC 6454 §4).
///
/// Hosts are compared byte by byte after folding ASCII letters. Nothing else is taken for equal: neither a final dot nor
/// a letter in percent-encoding.
struct Origin: Equatable, Sendable {
    let isEncrypted: Bool
    let host: [UInt8]
    let port: Int

    /// - Returns: `nil` where the address is none of HTTP or of web sockets, has no host, or holds a user's name, which
    ///   serves to deceive readers.
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

    static func folded(_ host: String) -> [UInt8] {
        host.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    }
}
