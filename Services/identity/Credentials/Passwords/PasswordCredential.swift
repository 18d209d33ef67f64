import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import IdentityCore
import Postgres

extension CredentialKindID {
    static let password = Self(rawValue: "password")
}

/// Passwords as a kind of credential. A password verifies nothing about the person, and an account has one at most.
struct PasswordCredential: CredentialKind {
    let passwords: PasswordStore
    /// This installation's keys for imported hashes.
    let importKeys: ImportedPasswordHash.Keys

    static let id = CredentialKindID.password
    let requirement: Reachability.Requirement? = .credentialAndIdentifier
    let isRemovedByUndo = true
    let unlinkedEvent = AuditEvent.passwordRemoved

    func remove(_ credential: Credential, of userID: UUID, on transaction: PostgresTransaction) {}

    func merge(_ credential: Credential, from: UUID, into: UUID, on transaction: PostgresTransaction) {}

    func export(_ userID: UUID, into export: inout AccountExport) async throws {
        export.passwordChangedAt = try await passwords.changedAt(userID)
    }

    func export(_ records: inout [UserRecord], withSecrets: Bool) async throws {
        guard withSecrets else { return }
        let hashes = try await passwords.hashes(of: records.compactMap(\.id))
        for index in records.indices { records[index].passwordHash = records[index].id.flatMap { hashes[$0] } }
    }

    func read(_ record: UserRecord, of userID: UUID) throws(Refusal) -> ImportedCredential? {
        guard let text = record.passwordHash else { return nil }
        let hash = try ImportedPasswordHash(text, keys: importKeys).text
        guard record.email != nil || record.phone != nil else {
            throw Refusal("A passwordHash requires email or phone to sign in with.")
        }
        return ImportedCredential(credential: Self.new(of: userID), details: hash)
    }

    func addDetails(of credentials: [ImportedCredential], on transaction: PostgresTransaction) async throws {
        try await PasswordStore.addHashes(
            credentials.map { ($0.credential.id, $0.details) }, on: transaction)
    }

    static func new(of userID: UUID) -> NewCredential {
        NewCredential(userID: userID, name: CredentialName(id), isSingle: true, isVerified: false)
    }
}

extension Verification {
    static let password = Verification(
        credential: CredentialName(.password), methods: [.password], requestsMessages: true)
}
