import Instruments
import Logging
import Postgres
import Sealing

/// Removes expired rows in batches. Each batch is its own statement, so that none exceeds the statement timeout,
/// however many rows there are. Every replica does this, and skips rows that another has locked.
struct Housekeeping: Sendable {
    let database: PostgresPool
    let logger: Logger
    private let failures = Counter(
        "identity_housekeeping_failed_total", help: "Failed attempts to remove expired rows.")

    private let removals: [Removal]
    private let seals: AuditSealStore?
    private let auditRetention: Int?
    private let unverifiedAccounts: UnverifiedAccountRemoval?

    static let batch = 500

    /// - Parameters:
    ///   - auditRetention: days for which the audit log is kept; `nil` keeps it for ever.
    ///   - originRetention: days for which the origins of its actors are kept.
    ///   - seals: the seals of the audit log; entries are removed with theirs.
    ///   - unverifiedAccounts: `nil` keeps accounts that have verified nothing.
    init(
        database: PostgresPool, auditRetention: Int?, originRetention: Int = 90, seals: AuditSealStore? = nil,
        unverifiedAccounts: UnverifiedAccountRemoval? = nil, logger: Logger
    ) {
        self.database = database
        self.logger = logger
        self.seals = seals
        self.auditRetention = auditRetention
        self.unverifiedAccounts = unverifiedAccounts
        let audit = auditRetention.map {
            Removal(
                table: "audit", key: "id",
                condition: """
                    at < now() - make_interval(days => \($0)) AND (event <> '\(AuditEvent.deleted.rawValue)'
                        OR at < now() - make_interval(days => \(UserImportStore.deletionMemory)))
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
            condition: "at < now() - make_interval(days => \(UserImportStore.deletionMemory))"),
        Removal(table: "audit_counts", key: "at", condition: "at < now() - interval '8 days'"),
    ]

    /// A failure in one table does not affect the others. The next run retries it.
    func removeExpired() async {
        for removal in removals {
            await attempt(removal.table) { while try await remove(removal) == Self.batch {} }
        }
        if let unverifiedAccounts {
            await attempt("users") { try await unverifiedAccounts.run() }
        }
        if let seals, let auditRetention {
            await attempt("audit_entries") { while try await seals.removeOldest(olderThan: auditRetention) {} }
        }
    }

    private func attempt(_ table: String, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            if Task.isCancelled { return }
            failures.increment()
            logger.warning(
                "What has expired could not be removed", metadata: ["table": "\(table)", "error": "\(error)"])
        }
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

extension KeyRing {
    /// Registers a metric of the keys that this replica has. The key file does not contain the age of a key.
    ///
    /// - Parameter kind: the purpose of the keys.
    func registerMetrics(as kind: String) {
        for id in ids {
            Gauge(
                "identity_key_info", help: "1 for each key of identity, by its use in this replica.",
                labels: [("kind", kind), ("key", id), ("use", id == current.id ? "current" : "previous")]
            ).set(1)
        }
    }
}
