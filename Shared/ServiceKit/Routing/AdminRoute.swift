/// What a service answers on its admin port besides metrics and health: GET, and HEAD.
public struct AdminRoute: Sendable {
    let path: String
    let contentType: String
    let policy: String
    let body: @Sendable () async throws -> [UInt8]

    /// - Parameters:
    ///   - path: from the root.
    ///   - policy: `Content-Security-Policy`.
    ///   - body: asked for each request.
    public init(
        _ path: String, contentType: String, policy: String = "default-src 'none'; frame-ancestors 'none'",
        body: @escaping @Sendable () async throws -> [UInt8]
    ) {
        self.path = path
        self.contentType = contentType
        self.policy = policy
        self.body = body
    }
}
