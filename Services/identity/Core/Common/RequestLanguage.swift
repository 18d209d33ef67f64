/// The language that the client of the current request prefers. It is set where the request begins, and read where a
/// message to another user is put into the outbox.
enum RequestLanguage {
    /// `Accept-Language`; `nil` where it is too long to be parsed.
    @TaskLocal static var current: String?

    static func of(_ acceptLanguage: String?) -> String? {
        acceptLanguage.flatMap { $0.utf8.count <= 256 ? $0 : nil }
    }
}
