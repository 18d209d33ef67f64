/// Whoever takes a message to where an identifier leads.
protocol MessageSender: Sendable {
    /// Returns when somebody else has taken the message over for good.
    /// - Throws: ``MessageRefused`` where it will never be taken; any other error where it may be, later.
    func send(_ message: OutgoingMessage) async throws
}
