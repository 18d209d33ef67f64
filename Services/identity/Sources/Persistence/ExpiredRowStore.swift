import Instruments
import Logging
import Postgres
import ServiceKitPostgres

/// Removes expired rows. Each batch is its own statement, so that none exceeds the statement timeout, however many rows
/// there are. Every replica does this, and skips rows that another has locked.
struct ExpiredRowStore: Sendable {
    let database: PostgresPool
    private let failures = Counter(
        "identity_housekeeping_failed_total", help: "Failed attempts to remove expired rows.")

    private let removals: [Removal]
    private let seals: AuditSealStore?
    private let auditRetention: Int?
    private let unverifiedAccounts: UnverifiedAccountRemoval?

    static let batch = 500
    /// The time between two batches of a table without expired rows.
    private static let pause = Duration.seconds(600)

    /// - Parameters:
    ///   - auditRetention: days for which the audit log is kept; `nil` keeps it for ever.
    ///   - originRetention: days for which the origins of its actors are kept.
    ///   - seals: the seals of the audit log; entries are removed with theirs.
    ///   - unverifiedAccounts: `nil` keeps accounts that have verified nothing.
    init(
        database: PostgresPool, auditRetention: Int?, originRetention: Int = 90, seals: AuditSealStore? = nil,
        unverifiedAccounts: UnverifiedAccountRemoval? = nil
    ) {
        self.database = database
        self.seals = seals
        self.auditRetention = auditRetention
        self.unverifiedAccounts = unverifiedAccounts
        let audit = auditRetention.map {
            Removal(
                table: "audit", key: "id",
                condition: """
                    at < now() - make_interval(days => \($0)) AND (event <> '\(AuditEvent.deleted.rawValue)'
                        OR at < now() - make_interval(days => \(UserTransferStore.deletionMemory)))
                    """)
        }
        let origins = Removal(
            table: "audit_origins", key: "entry_id", condition: "at < now() - make_interval(days => \(originRetention))"
        )
        removals = Self.removals + [audit, origins].compactMap(\.self)
    }

    /// A table, its key, and the condition of its expired rows.
    private struct Removal {
        var table: String
        var key: String
        var condition: String
    }

    private static let removals = [
        // The replicas' clocks decide whether a nonce has expired, and they may differ from the database's.
        Removal(table: "used_nonces", key: "digest", condition: "expires_at < now() - interval '1 hour'"),
        Removal(table: "password_resets", key: "digest", condition: "expires_at < now()"),
        Removal(table: "identifier_changes", key: "digest", condition: "expires_at < now()"),
        Removal(
            table: "codes", key: "id", condition: "created_at < now() - make_interval(secs => \(CodeRules.memory))"),
        Removal(table: "code_repeats", key: "id", condition: "expires_at < now()"),
        Removal(
            table: "apple_notifications", key: "id",
            condition: "received_at < now() - make_interval(secs => \(AppleNotification.lifetime + 86_400))"),
        Removal(
            table: "known_devices", key: "id",
            condition: "last_used_at < now() - make_interval(days => \(KnownDeviceStore.lifetime))"),
        Removal(
            table: "known_networks", key: "id",
            condition: "last_used_at < now() - make_interval(days => \(KnownDeviceStore.networkLifetime))"),
        Removal(
            table: "deleted_users", key: "user_id",
            condition: "at < now() - make_interval(days => \(UserTransferStore.deletionMemory))"),
        Removal(table: "audit_counts", key: "at", condition: "at < now() - interval '8 days'"),
    ]

    func purger(logger: Logger) -> Purger {
        var tables = removals.map { removal in
            Purger.Table(removal.table) { try await remove(removal) == Self.batch ? .zero : nil }
        }
        if let unverifiedAccounts {
            tables.append(
                Purger.Table("users") {
                    try await unverifiedAccounts.run()
                    return nil
                })
        }
        if let seals, let auditRetention {
            tables.append(
                Purger.Table("audit_entries") { try await seals.removeOldest(olderThan: auditRetention) ? .zero : nil })
        }
        return Purger(tables, pause: Self.pause, logger: logger) { _ in failures.increment() }
    }

    /// - Returns: the number of removed rows.
    private func remove(_ removal: Removal) async throws(PostgresError) -> Int {
        try await database.query(
            """
            DELETE FROM \(unescaped: removal.table) WHERE \(unescaped: removal.key) IN (
                SELECT \(unescaped: removal.key) FROM \(unescaped: removal.table) WHERE \(unescaped: removal.condition)
                LIMIT \(Self.batch) FOR UPDATE SKIP LOCKED)
            """
        ).affectedRows
    }
}
