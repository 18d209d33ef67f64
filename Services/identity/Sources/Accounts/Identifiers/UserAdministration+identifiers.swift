import Foundation

/// Identifiers, as operators give, move and remove them.
extension UserAdministration {
    /// Gives the user the identifier, in place of the one of its kind. By the operator's word it counts as proved.
    /// - Parameter user: an id, an e-mail address or a phone number.
    public func addIdentifier(_ identifier: String, user: String) async throws -> Entry {
        let id = try await find(user)
        let identifier = try reading { () throws(Refusal) in try Identifier(identifier, home: home) }
        return try await finish(identifiers.set(identifier, of: id, actor: .operator), identifier.value)
    }

    /// Gives an identifier from whoever has it to the user, who must have none of its kind.
    /// - Parameter user: an id, an e-mail address or a phone number.
    public func moveIdentifier(_ identifier: String, to user: String) async throws -> Entry {
        let identifier = try reading { () throws(Refusal) in try Identifier(identifier, home: home) }
        let former = try await find(identifier.value)
        let id = try await find(user)
        let outcome = try await identifiers.move(identifier.kind, from: former, to: id, actor: .operator)
        _ = try await deliver(about: former)
        return try await finish(outcome, identifier.value)
    }

    /// Takes an identifier from whoever has it, unless it is the last way into the account.
    public func removeIdentifier(_ identifier: String) async throws -> Entry {
        let identifier = try reading { () throws(Refusal) in try Identifier(identifier, home: home) }
        let id = try await find(identifier.value)
        return try await finish(identifiers.remove(identifier.kind, of: id, actor: .operator), identifier.value)
    }

    private func finish(_ outcome: IdentifierOutcome, _ value: String) async throws -> Entry {
        switch outcome {
        case .changed(let account):
            return try await entry(account, pending: deliver(about: account.id))
        case .taken:
            throw Failure(
                description: "\(value) belongs to another user, who has proved it. To move it: move-identifier.")
        case .lastOne:
            throw Failure(description: "\(value) is the only way to sign in to the account and cannot be removed.")
        case .occupied:
            throw Failure(description: "The user has another one of this kind. Remove that first.")
        case .missing, .noSuchUser:
            throw Failure(description: "There is no such user.")
        }
    }
}
