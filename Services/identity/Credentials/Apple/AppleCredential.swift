import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import IdentityCore
import Postgres

extension CredentialKindID {
    static let apple = Self(rawValue: "apple")
}

/// Apple accounts as a kind of credential. A user has one at most.
struct AppleCredential: CredentialKind {
    let identities: AppleIdentityStore
    let grants: AppleGrantStore
    /// Whether users may sign in with Apple.
    let isOffered: Bool

    static let id = CredentialKindID.apple
    var requirement: Reachability.Requirement? { isOffered ? .credential : nil }
    let isRemovedByUndo = false
    let unlinkedEvent = AuditEvent.appleUnlinked

    /// The outbox revokes at Apple what it has granted. A user has one Apple account, so the user's grants are those of
    /// the credential.
    func remove(_ credential: Credential, of userID: UUID, on transaction: PostgresTransaction) async throws {
        // The codes before the token: an exchange stores the token before its task ends, so one of the two is seen
        // here.
        try await OutboxStore.revokeExchanges(of: userID, on: transaction)
        if let grant = try await grants.grant(of: userID, on: transaction) {
            try await grants.enqueueRevocation(of: grant, on: transaction)
        }
    }

    func merge(_ credential: Credential, from: UUID, into: UUID, on transaction: PostgresTransaction) async throws {
        try await OutboxStore.moveExchanges(from: from, to: into, on: transaction)
        try await MailForwardingStore.move(from: from, to: into, on: transaction)
    }

    func export(_ userID: UUID, into export: inout AccountExport) async throws {
        export.apple = try await identities.identity(of: userID)
    }

    func export(_ records: inout [UserRecord], withSecrets: Bool) async throws {
        let identities = try await identities.records(of: records.compactMap(\.id))
        for index in records.indices { records[index].apple = records[index].id.flatMap { identities[$0] } }
    }

    func read(_ record: UserRecord, of userID: UUID) throws(Refusal) -> ImportedCredential? {
        guard let apple = record.apple else { return nil }
        guard (1...255).contains(apple.subject.utf8.count), (1...255).contains(apple.clientId.utf8.count) else {
            throw Refusal("apple.subject and apple.clientId have 1 to 255 bytes.")
        }
        let email = try apple.email.map { text throws(Refusal) in try Identifier(text, of: .email).value }
        return ImportedCredential(
            credential: Self.new(apple.subject, email: email, of: userID), details: apple.clientId)
    }

    func addDetails(of credentials: [ImportedCredential], on transaction: PostgresTransaction) async throws {
        try await AppleIdentityStore.addDetails(
            credentials.map { ($0.credential.id, $0.details, nil) }, on: transaction)
    }

    static func new(_ subject: String, email: String?, of userID: UUID) -> NewCredential {
        NewCredential(
            userID: userID, name: CredentialName(id), subject: subject, email: email, isSingle: true, isVerified: true)
    }
}

extension Verification {
    /// - Parameter email: an address that Apple has verified.
    static func apple(_ email: Identifier? = nil) -> Verification {
        Verification(credential: CredentialName(.apple), methods: [.apple], identifier: email, requestsMessages: false)
    }
}
