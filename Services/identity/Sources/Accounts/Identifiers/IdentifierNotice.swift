import Foundation
import Postgres

/// Tells whoever reads the former identifier that it was changed, and gives them the token that undoes it.
struct IdentifierNotice: Sendable {
    let messages: MessageQueue
    /// Where the message's link leads; `nil`: the message holds the token alone.
    let link: URL?
    let language: MessageLanguage

    /// In the transaction of the change. Where nobody sends to such an identifier nobody is told.
    /// - Parameter former: which its user had proved: at another a stranger may read.
    func leave(to former: Identifier, of userID: UUID, on transaction: PostgresTransaction) async throws {
        do { try messages.check(former) } catch { return }
        let token = UndoToken()
        let expiresAt = Date.now.addingTimeInterval(IdentifierUndo.lifetime)
        try await transaction.query(
            """
            INSERT INTO identifier_changes (digest, user_id, kind, value, expires_at)
            VALUES (\(token.digest), \(userID), \(former.kind.rawValue), \(former.value), \(expiresAt))
            """)
        let place = link.map { "\($0.absoluteString)#\(token.text)" } ?? token.text
        try await messages.enqueue(
            MessageEnvelope(
                .identifierChanged, to: former, language: language, values: [.link: place], expiresAt: expiresAt),
            on: transaction)
    }
}
