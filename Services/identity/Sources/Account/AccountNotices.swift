import Foundation
import IdentityCore
import Postgres

/// Notices with links that undo changes of an account's identifiers, sent to the former ones.
struct AccountNotices: Sendable {
    let notices: SecurityNotices
    /// The address of the link that undoes a change; `nil`: the message contains only the token.
    let undoLink: URL?

    /// Sends a link that undoes the change to the identifier that was changed or removed.
    func changed(_ former: AccountIdentifier, of userID: UUID, on transaction: PostgresTransaction) async throws {
        try await sendUndo(.identifierChanged, to: former, of: userID, on: transaction)
    }

    /// Sends a link that undoes a merge to an identifier of one of the two accounts.
    /// - Parameters:
    ///   - userID: the account that stays.
    ///   - isKept: whether the identifier belongs to that account now.
    func merged(
        _ identifier: AccountIdentifier, into userID: UUID, isKept: Bool, on transaction: PostgresTransaction
    ) async throws {
        try await sendUndo(
            isKept ? .accountsMerged : .identifierChanged, to: identifier, of: userID, isMerge: true, on: transaction)
    }

    private func sendUndo(
        _ kind: MessageKind, to former: AccountIdentifier, of userID: UUID, isMerge: Bool = false,
        on transaction: PostgresTransaction
    ) async throws {
        guard former.isVerified, (try? notices.messages.check(former.identifier)) != nil else { return }
        let token = SingleUseToken(.identifierUndo)
        try await IdentifierChangeStore.add(token, undoing: former, of: userID, isMerge: isMerge, on: transaction)
        let place = undoLink.map { "\($0.absoluteString)#\(token.text)" } ?? token.text
        try await notices.enqueue(
            kind, to: former.identifier, values: [.link: place], lifetime: token.lifetime, on: transaction)
    }
}
