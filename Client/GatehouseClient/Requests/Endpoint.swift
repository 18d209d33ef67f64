import GatehouseContracts
public import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// An endpoint of the team's own services below the base URL: its request and its response type.
///
/// ```swift
/// extension GatehouseEndpoint<Order> {
///     static func order(_ id: Int) -> Self { GatehouseEndpoint("GET", "/v1/orders/\(id)") }
/// }
/// let order = try await client.send(.order(7))
/// ```
public struct GatehouseEndpoint<Response: Sendable>: Sendable {
    public var method: String
    /// The path below the base URL. It begins with a slash and is percent-encoded.
    public var path: String
    /// The query items, which this library percent-encodes.
    public var query: [URLQueryItem]
    public var headers: [String: String]
    /// Whether the request is idempotent. `nil`: HTTP's rule for the method.
    public var isIdempotent: Bool?
    let content: Content?
    let read: @Sendable (Data) throws -> Response

    /// A request's body, encoded when the request is sent.
    struct Content: Sendable {
        var mediaType: String
        var data: @Sendable () throws -> Data
    }

    init(
        method: String, path: String, query: [URLQueryItem], content: Content?,
        read: @escaping @Sendable (Data) throws -> Response
    ) {
        self.method = method
        self.path = path
        self.query = query
        headers = [:]
        self.content = content
        self.read = read
    }

    /// - Parameters:
    ///   - method: in upper case.
    ///   - path: begins with `/`, and is percent-encoded where it needs to be.
    ///   - query: names and values, not yet percent-encoded.
    ///   - body: sent unchanged.
    ///   - mediaType: the body's media type.
    ///   - read: decodes the response's body.
    public init(
        _ method: String, _ path: String, query: [URLQueryItem] = [], body: Data, mediaType: String,
        read: @escaping @Sendable (Data) throws -> Response
    ) {
        let content = Content(mediaType: mediaType) { body }
        self.init(method: method, path: path, query: query, content: content, read: read)
    }

    /// - Throws: ``GatehouseError/Kind/misuse`` if the path or the body is invalid.
    func request(below base: GatehouseConfiguration) throws(GatehouseError) -> URLRequest {
        guard let url = url(below: base) else {
            throw GatehouseError(.misuse, reason: "a path begins with / and is percent-encoded")
        }
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        if let content {
            request.setValue(content.mediaType, forHTTPHeaderField: "Content-Type")
            do { request.httpBody = try content.data() } catch {
                throw GatehouseError(.misuse, reason: "the endpoint's body cannot be encoded")
            }
        }
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        return request
    }

    private func url(below base: GatehouseConfiguration) -> URL? {
        let url = base.url(forPath: path)
        guard !query.isEmpty, var components = url.flatMap({ URLComponents(url: $0, resolvingAgainstBaseURL: false) })
        else { return url }
        components.queryItems = (components.queryItems ?? []) + query
        // Many servers decode a plus sign in a query as a space.
        components.percentEncodedQuery = components.percentEncodedQuery?.replacingOccurrences(of: "+", with: "%2B")
        return components.url
    }
}

// Endpoints whose responses are JSON in Gatehouse's format: camelCase, times in ISO 8601.
extension GatehouseEndpoint where Response: Decodable {
    public init(_ method: String, _ path: String, query: [URLQueryItem] = []) {
        self.init(method: method, path: path, query: query, content: nil, read: Self.readJSON)
    }

    public init(_ method: String, _ path: String, query: [URLQueryItem] = [], json: some Encodable & Sendable) {
        self.init(method: method, path: path, query: query, content: .json(json), read: Self.readJSON)
    }

    static func readJSON(_ data: Data) throws -> Response { try ClientJSON.decode(Response.self, from: data) }
}

// Endpoints whose response has no content.
extension GatehouseEndpoint where Response == Void {
    public init(_ method: String, _ path: String, query: [URLQueryItem] = []) {
        self.init(method: method, path: path, query: query, content: nil) { _ in }
    }

    public init(_ method: String, _ path: String, query: [URLQueryItem] = [], json: some Encodable & Sendable) {
        self.init(method: method, path: path, query: query, content: .json(json)) { _ in }
    }
}

// Endpoints that return the response's bytes.
extension GatehouseEndpoint where Response == Data {
    public init(_ method: String, _ path: String, query: [URLQueryItem] = []) {
        self.init(method: method, path: path, query: query, content: nil) { $0 }
    }

    public init(_ method: String, _ path: String, query: [URLQueryItem] = [], json: some Encodable & Sendable) {
        self.init(method: method, path: path, query: query, content: .json(json)) { $0 }
    }
}

extension GatehouseEndpoint.Content {
    static func json(_ value: some Encodable & Sendable) -> Self {
        Self(mediaType: "application/json") { try ClientJSON.encode(value) }
    }
}

extension GatehouseAccessToken {
    /// The value of `Authorization` (RFC 6750 §2.1).
    var credentials: String { "Bearer \(value.value)" }
}

extension URLRequest {
    /// Returns the request with this bearer in place of any other.
    func carrying(_ token: GatehouseAccessToken) -> URLRequest {
        var request = self
        #if canImport(FoundationNetworking)
            // Foundation on Linux parses a single header value character by character. For a bearer, that takes a third
            // of the request's cost. Setting all fields at once avoids it. A value that could end the header line still
            // takes the slow path.
            if token.value.value.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) {
                var fields = (allHTTPHeaderFields ?? [:]).filter { $0.key.lowercased() != "authorization" }
                fields["Authorization"] = token.credentials
                request.allHTTPHeaderFields = fields
                return request
            }
        #endif
        request.setValue(token.credentials, forHTTPHeaderField: "Authorization")
        return request
    }
}
