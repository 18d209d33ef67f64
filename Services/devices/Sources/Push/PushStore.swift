import Contracts
import Foundation
import Postgres
import ServiceKitPostgres

/// The pushes in PostgreSQL as their callers see them: accepted, looked up, cancelled, replayed.
struct PushStore: Sendable {
    /// Targets or dead letters of a page.
    static let pageSize = 100
    /// Seconds for which an idempotency key is kept.
    static let keyLifetime: TimeInterval = 86_400
    /// Seconds between the due times of two recipients of one push, so that a push to many does not stand before one
    /// that is accepted a moment later.
    private static let pace = 0.0001

    let database: PostgresPool

    /// What became of a request to push.
    enum Acceptance: Sendable, Equatable {
        /// - Parameter isNew: whether this request added targets that may be due.
        case accepted(PushAccepted, isNew: Bool)
        /// The caller has used the key for another request within a day.
        case keyReused
    }

    // MARK: - Accepting

    /// Keeps a push, and the targets of one that is due at once, in one transaction. A request with a known key and the
    /// same hash gets the first answer.
    ///
    /// - Parameters:
    ///   - key: `nil` for a request that is never repeated.
    ///   - hash: SHA-256 of the request.
    func accept(_ push: ValidPush, of caller: String, key: String?, hash: Data) async throws -> Acceptance {
        do {
            return try await database.withTransaction { transaction in
                let id = UUID()
                guard try await Self.insert(push, id, of: caller, key: key, hash: hash, on: transaction) else {
                    guard let former = try await Self.former(key ?? "", of: caller, on: transaction) else {
                        throw PostgresError(.transactionAborted, "the key was taken and given back")
                    }
                    guard former.hash == hash else { return .keyReused }
                    return .accepted(former.answer, isNew: false)
                }
                guard push.sendAt == nil || push.isDryRun else {
                    return .accepted(PushAccepted(id: id.uuidString.lowercased()), isNew: true)
                }
                let count = try await Self.addTargets(of: id, on: transaction)
                if push.isDryRun { throw DryRun(devices: count) }
                _ = try await transaction.commit(after: "UPDATE pushes SET devices = \(Int32(count)) WHERE id = \(id)")
                return .accepted(PushAccepted(id: id.uuidString.lowercased(), devices: count), isNew: true)
            }
        } catch let dryRun as DryRun {
            return .accepted(PushAccepted(devices: dryRun.devices), isNew: false)
        }
    }

    /// Rolls back what a dry run has done.
    private struct DryRun: Error {
        let devices: Int
    }

    /// - Returns: whether the key is new. One that is older than a day is taken from its push.
    private static func insert(
        _ push: ValidPush, _ id: UUID, of caller: String, key: String?, hash: Data, on transaction: PostgresTransaction
    ) async throws(PostgresError) -> Bool {
        let content = push.content
        let recipients = push.recipients
        let statement: PostgresQuery = """
            INSERT INTO pushes
                (id, caller, idempotency_key, request_hash, state, send_at, expires_at, day, bundle_id, environment,
                 push_type, kind, activity, attributes_type, priority, collapse_id, payload, on_doubt, urgency,
                 recipient_buckets, recipient_kinds, recipient_ids, recipient_users)
            VALUES (\(id), \(caller), \(key), \(hash), \(push.sendAt == nil ? "sending" : "scheduled"), \(push.sendAt),
                \(content.expiresAt), (\(content.expiresAt) AT TIME ZONE 'UTC')::date, \(content.bundleID),
                \(content.environment?.rawValue), \(content.type.rawValue), \(content.kind.rawValue),
                \(content.activity), \(content.attributesType), \(Int16(content.priority.rawValue)),
                \(content.collapseID), \(content.payload), \(content.onDoubt.rawValue), \(content.urgency.rawValue),
                \(recipients.map(\.bucket.rawValue)), \(recipients.map(\.kind.rawValue)), \(recipients.map(\.id)),
                \(recipients.map(\.user)))
            ON CONFLICT (caller, idempotency_key) DO NOTHING
            """
        // Waits for a concurrent request with the key.
        if try await transaction.query(statement).affectedRows == 1 { return true }
        let freed = try await transaction.query(
            """
            UPDATE pushes SET idempotency_key = NULL
            WHERE caller = \(caller) AND idempotency_key = \(key)
              AND created_at < statement_timestamp() - make_interval(secs => \(keyLifetime))
            """
        ).affectedRows
        guard freed == 1 else { return false }
        return try await transaction.query(statement).affectedRows == 1
    }

    private static func former(
        _ key: String, of caller: String, on transaction: PostgresTransaction
    ) async throws(PostgresError) -> (hash: Data, answer: PushAccepted)? {
        let rows = try await transaction.query(
            "SELECT id, request_hash, devices FROM pushes WHERE caller = \(caller) AND idempotency_key = \(key)")
        guard let (id, hash, devices) = try rows.first?.decode((UUID, Data, Int?).self) else { return nil }
        return (hash, PushAccepted(id: id.uuidString.lowercased(), devices: devices))
    }

    /// Adds the targets of all recipients of a push. Returns their number.
    private static func addTargets(
        of push: UUID, on transaction: PostgresTransaction
    ) async throws(PostgresError) -> Int {
        try await transaction.query(
            """
            SELECT coalesce(sum(add_push_targets(
                recipient.bucket, recipient.kind, recipient.id, recipient.user_id, pushes.id, bundle_id,
                pushes.kind, activity, attributes_type, environment, caller, urgency,
                statement_timestamp() + make_interval(secs => \(pace) * (recipient.position - 1)), day)), 0)
            FROM pushes,
                unnest(recipient_buckets, recipient_kinds, recipient_ids, recipient_users) WITH ORDINALITY
                    AS recipient (bucket, kind, id, user_id, position)
            WHERE pushes.id = \(push)
            """
        )[0].decode(Int.self)
    }

    /// Adds the targets of scheduled pushes that are due. Returns how many pushes there were.
    func startScheduled() async throws -> Int {
        var count = 0
        while try await startNext() { count += 1 }
        return count
    }

    private func startNext() async throws -> Bool {
        try await database.withTransaction { transaction in
            let due = try await transaction.query(
                """
                SELECT id FROM pushes WHERE state = 'scheduled' AND send_at <= statement_timestamp()
                ORDER BY send_at LIMIT 1 FOR UPDATE SKIP LOCKED
                """
            ).decode(UUID.self)
            guard let id = due.first else { return false }
            let devices = try await Self.addTargets(of: id, on: transaction)
            _ = try await transaction.commit(
                after: "UPDATE pushes SET state = 'sending', devices = \(Int32(devices)) WHERE id = \(id)")
            return true
        }
    }

    // MARK: - Looking up

    /// The push of this caller, with its devices after `cursor`.
    func status(of push: UUID, of caller: String, after cursor: TargetCursor?) async throws -> PushStatus? {
        let rows = try await database.query(
            """
            SELECT state, created_at, send_at, expires_at, recipient_buckets FROM pushes
            WHERE id = \(push) AND caller = \(caller)
            """)
        guard let row = rows.first else { return nil }
        let (state, createdAt, sendAt, expiresAt, recipients) = try row.decode(
            (String, Date, Date?, Date, [Int16]).self)
        let buckets = Set(recipients).sorted()
        let counts = try await database.query(
            """
            SELECT counted.in_state, sum(counted.number)::bigint
            FROM unnest(\(buckets)) AS bucket, count_push_targets(bucket, \(push)) AS counted GROUP BY 1
            """
        ).decode((String, Int).self)
        let page = try await database.query(
            """
            SELECT t.bucket, t.device_id, t.user_id, t.state, t.reason, t.updated_at, t.attempts
            FROM unnest(\(buckets.filter { $0 >= cursor?.bucket ?? 0 })) AS bucket,
                list_push_targets(
                    bucket, \(push), CASE WHEN bucket = \(cursor?.bucket) THEN \(cursor?.device) END,
                    \(Self.pageSize + 1)) AS t
            ORDER BY t.bucket, t.device_id LIMIT \(Self.pageSize + 1)
            """)
        let entries = try page.prefix(Self.pageSize).map(PushStatus.Entry.init)
        let isOpen = counts.contains { TargetState(rawValue: $0.0)?.isFinal == false }
        return PushStatus(
            id: push, state: state == "sending" && !isOpen ? .done : PushState(rawValue: state), createdAt: createdAt,
            sendAt: sendAt, expiresAt: expiresAt, counts: Dictionary(uniqueKeysWithValues: counts), devices: entries,
            next: page.count > Self.pageSize
                ? try page.prefix(Self.pageSize).last.map {
                    TargetCursor(bucket: try $0.decode("bucket"), device: try $0.decode("device_id")).text
                } : nil)
    }

    /// Cancels what is not sent yet. Returns whether the push is this caller's.
    func cancel(_ push: UUID, of caller: String) async throws -> Bool {
        // First the push: a target that is claimed later sees it.
        let rows = try await database.query(
            """
            UPDATE pushes SET state = 'cancelled' WHERE id = \(push) AND caller = \(caller)
            RETURNING recipient_buckets
            """)
        guard let buckets = try rows.first?.decode([Int16].self) else { return false }
        try await database.query(
            "SELECT cancel_push_targets(bucket, \(push)) FROM unnest(\(Set(buckets).sorted())) AS bucket")
        return true
    }

    // MARK: - Dead letters

    /// The caller's dead letters after one, in the order of their pushes.
    func dead(of caller: String, after cursor: DeadCursor?) async throws -> DeadPushList {
        let rows = try await database.query(
            """
            SELECT push_id, device_id, user_id, reason, updated_at, attempts FROM push_targets
            WHERE state = 'dead' AND caller = \(caller) AND (push_id, device_id) > (\(cursor?.push ?? Self.zero),
                \(cursor?.device ?? Self.zero))
            ORDER BY push_id, device_id LIMIT \(Self.pageSize + 1)
            """
        ).decode((UUID, UUID, UUID, String?, Date, Int).self)
        let page = rows.prefix(Self.pageSize).map {
            DeadPushList.Entry(push: $0, device: $1, user: $2, reason: $3, at: $4, attempts: $5)
        }
        let next =
            rows.count > Self.pageSize ? page.last.map { DeadCursor(push: $0.push, device: $0.device).text } : nil
        return DeadPushList(entries: page, next: next)
    }

    private static let zero = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

    /// Queues the dead letters of a push again. Returns how many there were; `nil` for another caller's push and for
    /// one that was cancelled.
    func replay(_ push: UUID, of caller: String, until expiresAt: Date) async throws -> Int? {
        try await database.withTransaction { transaction in
            let rows = try await transaction.query(
                """
                UPDATE pushes SET expires_at = greatest(expires_at, \(expiresAt)),
                    day = (greatest(expires_at, \(expiresAt)) AT TIME ZONE 'UTC')::date
                WHERE id = \(push) AND caller = \(caller) AND state = 'sending' RETURNING recipient_buckets
                """)
            guard let buckets = try rows.first?.decode([Int16].self) else { return nil }
            return try await transaction.query(
                """
                SELECT coalesce(sum(replay_push_targets(
                    bucket, \(push), (\(expiresAt) AT TIME ZONE 'UTC')::date)), 0)
                FROM unnest(\(Set(buckets).sorted())) AS bucket
                """
            )[0].decode(Int.self)
        }
    }
}

/// A position among the targets of a push.
struct TargetCursor: Sendable, Equatable {
    let bucket: Int16
    let device: UUID

    init(bucket: Int16, device: UUID) {
        self.bucket = bucket
        self.device = device
    }

    init?(text: String) {
        let parts = text.split(separator: "_", maxSplits: 1)
        guard parts.count == 2, let bucket = Int16(parts[0]), let device = UUID(uuidString: String(parts[1])) else {
            return nil
        }
        self.init(bucket: bucket, device: device)
    }

    var text: String { "\(bucket)_\(device.uuidString.lowercased())" }
}

/// A position among the dead letters of a caller.
struct DeadCursor: Sendable, Equatable {
    let push: UUID
    let device: UUID

    init(push: UUID, device: UUID) {
        self.push = push
        self.device = device
    }

    init?(text: String) {
        let parts = text.split(separator: "_", maxSplits: 1).map { UUID(uuidString: String($0)) }
        guard parts.count == 2, let push = parts[0], let device = parts[1] else { return nil }
        self.init(push: push, device: device)
    }

    var text: String { "\(push.uuidString.lowercased())_\(device.uuidString.lowercased())" }
}

extension PushStatus.Entry {
    fileprivate init(_ row: PostgresRow) throws(PostgresError) {
        self.init(
            device: try row.decode("device_id"), user: try row.decode("user_id"),
            state: PushTargetState(rawValue: try row.decode("state")), reason: try row.decode("reason"),
            at: try row.decode("updated_at"), attempts: try row.decode("attempts"))
    }
}
