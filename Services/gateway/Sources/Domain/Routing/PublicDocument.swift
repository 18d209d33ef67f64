/// What the gateway publishes about the public routes.
enum PublicDocument: String, Sendable, CaseIterable {
    /// For programs: OpenAPI 3.1.
    case openAPI = "/openapi.json"
    /// The same for people.
    case page = "/docs"

    var path: String { rawValue }
}
