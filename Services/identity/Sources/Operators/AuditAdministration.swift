import Foundation
import GatehouseBytes
import GatehouseServiceKit
import IdentityCore
import Postgres

/// Operator commands for the audit log.
struct AuditAdministration: Sendable {
    let log: AuditStore
    let seals: AuditSealStore
    let users: UserAdministration
    /// Days; `nil` keeps entries for ever.
    let retention: Int?

    /// An entry as operators see it.
    struct Entry: Sendable, Encodable {
        /// Also the value of `--before` for the next page.
        var id: Int64
        var at: Date
        var userId: String
        var actor: String
        var actorId: String?
        var event: String
        var detail: String?
        var sessionId: String?
        var count: Int
        var ipAddress: String?
        var userAgent: String?
        var device: String?
        var appVersion: String?

        init(_ record: AuditRecord) {
            id = record.id
            at = record.at
            userId = record.userID.path
            actor = record.actor
            actorId = record.actorID
            event = record.event
            detail = record.detail
            sessionId = record.sessionID?.path
            count = record.count
            ipAddress = record.origin?.address
            userAgent = record.origin?.userAgent
            device = record.origin?.device
            appVersion = record.origin?.appVersion
        }
    }

    /// The result of verifying the hash chain.
    struct Report: Sendable, Encodable {
        var isIntact: Bool
        var seals: Int
        var entries: Int
        /// Seals of which only the hashes were compared, because the key of their tags is no longer in the file.
        var sealsWithoutKey: Int
        var firstSeal: Int64?
        /// The newest seal, `NUMBER:DIGEST`. The operator notes it elsewhere and passes it as `--noted` to a later run.
        var head: String?
        var flaws: [String]
    }

    /// Entries from the newest to the oldest.
    /// - Parameters:
    ///   - user: an id, also of a deleted account, an e-mail address or a phone number; `nil` for all users.
    ///   - before: the id of the previous page's last entry.
    func list(user: String?, before: Int64?, limit: Int) async throws -> [Entry] {
        var userID: UUID?
        if let user { userID = try await users.find(user) }
        return try await log.page(of: userID, before: before, limit: limit).map(Entry.init)
    }

    /// Verifies the hash chain of the whole log.
    /// - Parameters:
    ///   - noted: a head that was noted before, `NUMBER:DIGEST`.
    ///   - progress: receives the number of entries read.
    func verify(noted: String?, progress: (Int) -> Void) async throws -> Report {
        var head: (number: Int64, digest: [UInt8])?
        if let noted {
            guard let value = Self.head(noted) else {
                throw CommandFailure(description: "A head has the form NUMBER:DIGEST.")
            }
            head = value
        }
        let result = try await seals.verify(days: retention, noted: head, progress: progress)
        return Report(
            isIntact: result.flaws.isEmpty, seals: result.seals, entries: result.entries,
            sealsWithoutKey: result.withoutKey, firstSeal: result.first?.number,
            head: result.last.map { "\($0.number):\(Hexadecimal.string($0.digest))" }, flaws: result.flaws)
    }

    private static func head(_ text: String) -> (number: Int64, digest: [UInt8])? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = Int64(parts[0]), parts[1].utf8.count == 64 else { return nil }
        let digits = parts[1].utf8.compactMap(Hexadecimal.value)
        guard digits.count == 64 else { return nil }
        return (number, stride(from: 0, to: 64, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
    }
}
