public import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// One of a team's own endpoints below the base URL: what is asked of it, and what it answers.
///
/// ```swift
/// extension Endpoint<Order> {
///     static func order(_ id: Int) -> Self { Endpoint("GET", "/v1/orders/\(id)") }
/// }
/// let order = try await client.send(.order(7))
/// ```
public struct Endpoint<Response: Sendable>: Sendable {
    public var method: String
    /// Below the base URL, with a slash first; percent-encoded.
    public var path: String
    /// Encoded by this library.
    public var query: [URLQueryItem]
    public var headers: [String: String]
    /// Whether the server does the same for one request as for two of its kind. `nil`: what HTTP says of the method.
    public var isRepeatable: Bool?
    let content: Content?
    let read: @Sendable (Data) throws -> Response

    /// A request's body, made when it is sent.
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
    ///   - method: in capitals.
    ///   - path: begins with `/`, and is percent-encoded where it needs to be.
    ///   - query: names and values as they are.
    ///   - body: sent as it is.
    ///   - mediaType: of the body.
    ///   - read: makes the answer of the response's body.
    public init(
        _ method: String, _ path: String, query: [URLQueryItem] = [], body: Data, mediaType: String,
        read: @escaping @Sendable (Data) throws -> Response
    ) {
        let content = Content(mediaType: mediaType) { body }
        self.init(method: method, path: path, query: query, content: content, read: read)
    }

    /// - Throws: ``GatehouseError/Kind/misuse`` where path or body make no request.
    func request(below base: URL) throws(GatehouseError) -> URLRequest {
        guard path.hasPrefix("/"), let url = url(below: base) else {
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

    private func url(below base: URL) -> URL? {
        let stem = base.absoluteString
        let address = (stem.hasSuffix("/") ? String(stem.dropLast()) : stem) + path
        guard !query.isEmpty, var components = URLComponents(string: address) else { return URL(string: address) }
        components.queryItems = (components.queryItems ?? []) + query
        // In a query many servers read a plus sign as a space.
        components.percentEncodedQuery = components.percentEncodedQuery?.replacingOccurrences(of: "+", with: "%2B")
        return components.url
    }
}
