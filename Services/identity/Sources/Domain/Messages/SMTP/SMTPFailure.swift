/// Why a message was not taken.
struct SMTPFailure: Error, Equatable, CustomStringConvertible {
    var reason: String
    /// Whether this message will never be taken. A server that is away, full or wrongly set up may take it later.
    var isFinal: Bool

    var description: String { reason }
}
