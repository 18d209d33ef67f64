/// What the client of the present request wants to read: set where the request begins, and read where a message to
/// somebody else is put into the outbox.
enum RequestLanguage {
    /// `Accept-Language`, as far as anybody reads it.
    @TaskLocal static var current: String?

    static func of(_ acceptLanguage: String?) -> String? {
        acceptLanguage.flatMap { $0.utf8.count <= 256 ? $0 : nil }
    }
}
