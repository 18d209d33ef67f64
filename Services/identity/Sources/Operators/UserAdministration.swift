import Foundation
import GatehouseLimits
import GatehouseServiceContracts
import GatehouseServiceKit
import IdentityCore
import IdentityCredentials
import Postgres

/// Operator commands for accounts. Gatehouse trusts the operator: an identifier that an operator gives to a user counts
/// as verified.
struct UserAdministration: Sendable {
    let accounts: AccountStore
    let identifiers: IdentifierStore
    let identifierChanges: IdentifierChangeStore
    let passwords: PasswordStore
    let hasher: PasswordHasher
    let screening: PasswordScreening
    let delivery: OutboxDelivery
    let outbox: OutboxStore
    let home: PhoneRegion?

    /// A user as operators see it.
    struct Entry: Sendable, Encodable {
        var user: User
        /// `active` or `disabled`.
        var state: String
        /// Kinds of tasks that tokens has not received yet, because it could not be reached. The running service
        /// retries them. `revoke_sessions` means that the user's sessions have not ended yet.
        var pending: [String]?
    }

    /// Creates a user with a password.
    /// - Parameter identifier: an e-mail address or a phone number.
    func create(
        identifier: String, password: String, displayName: String?, role: String, storeIDs: [String]
    ) async throws -> Entry {
        let request = AdminCreateUserRequest(
            identifier: identifier, password: password, displayName: displayName, role: role, storeIds: storeIDs)
        do {
            return entry(try await create(request))
        } catch let problem as Problem where problem.code == .identifierTaken {
            throw CommandFailure(description: "\(identifier) belongs to another user.")
        } catch let problem as Problem {
            throw CommandFailure(description: problem.errors.first?.message ?? problem.detail)
        }
    }

    /// - Throws: `INVALID_REQUEST`, `WEAK_PASSWORD`, `IDENTIFIER_TAKEN`.
    func create(_ request: AdminCreateUserRequest) async throws -> Account {
        if request.password != nil { try hasher.requireRoom() }
        let identifier = try Problem.checking("identifier") { () throws(Refusal) in
            try Identifier(request.identifier, home: home)
        }
        let change = try AccountChange(
            AdminUpdateUserRequest(
                displayName: request.displayName, role: request.role, storeIds: request.storeIds))
        var hash: String?
        if let text = request.password {
            let password = try Problem.checking("password") { () throws(Refusal) in try Password(text) }
            try await screening.check(password, for: [identifier.value], field: "password")
            hash = try await hasher.hash(password)
        }
        let new = NewAccount(
            identifier: identifier, isVerified: true, passwordHash: hash, displayName: change.displayName ?? nil,
            role: change.role ?? .user, stores: change.stores ?? .none, actor: .operator)
        guard let account = try await passwords.register(new) else { throw Problem(.identifierTaken) }
        return account
    }

    /// Calls `body` with every user, oldest first.
    func list(_ body: (Entry) throws -> Void) async throws {
        var last: Account?
        repeat {
            let page = try await accounts.list(after: last, limit: 500)
            try page.forEach { try body(entry($0)) }
            last = page.last
        } while last != nil
    }

    /// - Parameter user: an id, an e-mail address or a phone number.
    func setDisabled(_ isDisabled: Bool, user: String) async throws -> Entry {
        let id = try await find(user)
        guard let account = try await accounts.setState(isDisabled ? .disabled : .active, of: id, actor: .operator)
        else {
            throw CommandFailure(description: "There is no such user.")
        }
        return try await entry(account, pending: deliver(about: id))
    }

    /// - Parameters:
    ///   - user: an id, an e-mail address or a phone number.
    ///   - storeIDs: `nil` leaves the user's stores as they are.
    func setRole(_ role: String, storeIDs: [String]?, user: String) async throws -> Entry {
        let id = try await find(user)
        let role = try reading { () throws(Refusal) in try Role(role) }
        let stores = try reading { () throws(Refusal) in
            try storeIDs.map { ids throws(Refusal) in try StoreList(ids) }
        }
        let change = AccountChange(role: role, stores: stores)
        guard let account = try await accounts.change(id, to: change, actor: .operator) else {
            throw CommandFailure(description: "There is no such user.")
        }
        return try await entry(account, pending: deliver(about: id))
    }

    /// Delivers the user's tasks to tokens at once. Where that fails, the running service delivers them. The service
    /// may have claimed the tasks before this command, so the command waits a moment until they are done. The change is
    /// committed, so no request's deadline applies.
    /// - Returns: the kinds of the tasks that remain.
    func deliver(about userID: UUID) async throws -> [String] {
        try await Deadline.with(nil) {
            for entry in try await delivery.claim(for: .tokens, limit: 100, about: userID) {
                do { try await delivery.deliver(entry) } catch { try? await outbox.postpone(entry, seconds: 0) }
            }
            let end = ContinuousClock.now + .seconds(1)
            while true {
                let kinds = try await outbox.kinds(for: .tokens, about: userID)
                if kinds.isEmpty || .now >= end { return kinds }
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    /// - Parameter user: an id, an e-mail address or a phone number.
    func find(_ user: String) async throws -> UUID {
        if let id = UUID(uuidString: user) { return id }
        let identifier = try reading { () throws(Refusal) in try Identifier(user, home: home) }
        guard let id = try await identifiers.holder(of: identifier) else {
            throw CommandFailure(description: "There is no user with \(identifier.value).")
        }
        return id
    }

    func entry(_ account: Account, pending: [String] = []) -> Entry {
        Entry(
            user: account.user, state: account.state.rawValue,
            pending: pending.isEmpty ? nil : pending)
    }

    func reading<Value>(_ read: () throws(Refusal) -> Value) throws(CommandFailure) -> Value {
        do { return try read() } catch { throw CommandFailure(description: error.message) }
    }
}

/// Operator commands that give, move and remove identifiers.
extension UserAdministration {
    /// Gives the user the identifier, in place of the one of its kind. It counts as verified, because the operator
    /// vouches for it.
    /// - Parameter user: an id, an e-mail address or a phone number.
    func addIdentifier(_ identifier: String, user: String) async throws -> Entry {
        let id = try await find(user)
        let identifier = try reading { () throws(Refusal) in try Identifier(identifier, home: home) }
        return try await finish(identifierChanges.set(identifier, of: id, actor: .operator), identifier.value)
    }

    /// Moves an identifier from its present user to another user, who must have none of its kind.
    /// - Parameter user: an id, an e-mail address or a phone number.
    func moveIdentifier(_ identifier: String, to user: String) async throws -> Entry {
        let identifier = try reading { () throws(Refusal) in try Identifier(identifier, home: home) }
        let former = try await find(identifier.value)
        let id = try await find(user)
        let outcome = try await identifierChanges.move(identifier.kind, from: former, to: id, actor: .operator)
        _ = try await deliver(about: former)
        return try await finish(outcome, identifier.value)
    }

    /// Removes an identifier from its user, unless it is the account's last credential.
    func removeIdentifier(_ identifier: String) async throws -> Entry {
        let identifier = try reading { () throws(Refusal) in try Identifier(identifier, home: home) }
        let id = try await find(identifier.value)
        return try await finish(identifierChanges.remove(identifier.kind, of: id, actor: .operator), identifier.value)
    }

    private func finish(_ outcome: IdentifierOutcome, _ value: String) async throws -> Entry {
        switch outcome {
        case .changed(let account):
            return try await entry(account, pending: deliver(about: account.id))
        case .taken:
            throw CommandFailure(
                description: "\(value) belongs to another user, who has verified it. To move it: move-identifier.")
        case .lastOne:
            throw CommandFailure(
                description: "\(value) is the only way to sign in to the account and cannot be removed.")
        case .occupied:
            throw CommandFailure(description: "The user has another one of this kind. Remove that first.")
        case .missing, .noSuchUser:
            throw CommandFailure(description: "There is no such user.")
        }
    }
}

extension AccountChange {
    /// - Throws: `INVALID_REQUEST` naming the field.
    init(_ request: AdminUpdateUserRequest) throws(Problem) {
        self.init()
        if let text = request.displayName {
            let name = try Problem.checking("displayName") { () throws(Refusal) in try DisplayName.read(text) }
            displayName = .some(name)
        }
        if let name = request.role {
            role = try Problem.checking("role") { () throws(Refusal) in try Role(name) }
        }
        if let ids = request.storeIds {
            stores = try Problem.checking("storeIds") { () throws(Refusal) in try StoreList(ids) }
        }
    }
}
