import Contracts
import Foundation
import Postgres
import ServiceKitPostgres

/// The queue of the targets in PostgreSQL, as the sender of a replica sees it.
struct PushQueueStore: Sendable {
    let database: PostgresPool

    /// The targets that are due, at most `limit` of each caller and urgency, the longest due first.
    ///
    /// The callers are found one by one in the index of their keys.
    func due(limit: Int) async throws(PostgresError) -> FairQueue {
        let rows = try await database.query(
            """
            WITH RECURSIVE callers (caller) AS (
                (SELECT caller FROM pushes ORDER BY caller LIMIT 1)
                UNION ALL
                SELECT (SELECT caller FROM pushes WHERE caller > callers.caller ORDER BY caller LIMIT 1)
                FROM callers WHERE callers.caller IS NOT NULL
            )
            SELECT callers.caller, urgencies.urgency, due.bucket, due.push_id, due.device_id
            FROM callers, unnest(\(PushUrgency.allCases.map(\.rawValue))) AS urgencies (urgency), LATERAL (
                SELECT bucket, push_id, device_id FROM push_targets
                WHERE push_targets.caller = callers.caller AND push_targets.urgency = urgencies.urgency
                  AND due_at <= statement_timestamp()
                ORDER BY due_at LIMIT \(limit)
            ) AS due
            WHERE callers.caller IS NOT NULL
            """
        ).decode((String, String, Int16, UUID, UUID).self)
        var queue = FairQueue()
        for (caller, urgency, bucket, push, device) in rows {
            guard let bucket = Bucket(rawValue: bucket) else { continue }
            queue.add(
                PushTarget(bucket: bucket, push: push, device: device), of: caller,
                urgency: PushUrgency(rawValue: urgency) ?? .normal)
        }
        return queue
    }

    /// Claims those of the targets that are still due and not being claimed by another replica.
    ///
    /// - Parameter lease: how long no other replica sends them.
    func claim(_ targets: [PushTarget], lease: Duration) async throws(PostgresError) -> [ClaimedTarget] {
        let rows = try await database.query(
            """
            SELECT claim.bucket, claim.push_id, claim.device_id, claim.user_id, claim.lease_epoch, claim.attempts,
                claim.reason, claim.is_takeover, claim.claimed_at, claim.token_hash, claim.token_epoch,
                claim.sealed_token, claim.environment, claim.bundle_id, claim.kind, claim.status, claim.status_reason,
                claim.last_seen_at, claim.apns_accepted_at, claim.apns_paused_until
            FROM unnest(\(targets.map(\.bucket.rawValue)), \(targets.map(\.push)), \(targets.map(\.device)))
                AS target (bucket, push, device),
                claim_push_target(target.bucket, target.push, target.device, \(lease / .seconds(1))) AS claim
            """)
        return try rows.map { row throws(PostgresError) in try ClaimedTarget(row) }
    }

    /// The contents of pushes, and whether each was cancelled. Those that only a newer version understands are left
    /// out.
    func contents(
        of pushes: Set<UUID>
    ) async throws(PostgresError) -> [UUID: (content: PushContent, isCancelled: Bool)] {
        let rows = try await database.query(
            """
            SELECT id, state, bundle_id, environment, push_type, kind, activity, attributes_type, priority, collapse_id,
                expires_at, payload, on_doubt, urgency
            FROM pushes WHERE id = ANY (\(Array(pushes)))
            """)
        var contents: [UUID: (content: PushContent, isCancelled: Bool)] = [:]
        for row in rows {
            guard let content = try PushContent(row) else { continue }
            contents[try row.decode("id")] = (content, try row.decode("state", as: String.self) == "cancelled")
        }
        return contents
    }

    /// Records the outcomes of claims, in one statement. An outcome whose lease is not the latest changes nothing.
    ///
    /// - Returns: for each outcome, whether it was recorded.
    func record(_ outcomes: [ClaimOutcome]) async throws(PostgresError) -> [Bool] {
        let none = Date(timeIntervalSince1970: 0)
        let order = outcomes.indices.sorted { Self.precedes(outcomes[$0].claim.target, outcomes[$1].claim.target) }
        let sorted = order.map { outcomes[$0] }
        let changes = sorted.map(\.decision.registration.columns)
        // An array has no NULL: an empty text and the year 1970 stand for it.
        let recorded = try await database.query(
            """
            SELECT record_push_outcome(
                bucket, push, device, epoch, state, nullif(reason, ''), nullif(due_at, \(none)), tries, token_epoch,
                change, nullif(change_at, \(none)))
            FROM unnest(
                \(sorted.map(\.claim.target.bucket.rawValue)), \(sorted.map(\.claim.target.push)),
                \(sorted.map(\.claim.target.device)), \(sorted.map(\.claim.leaseEpoch)),
                \(sorted.map(\.decision.state.rawValue)), \(sorted.map { $0.decision.reason ?? "" }),
                \(sorted.map { $0.decision.dueAt ?? none }), \(sorted.map { Int32($0.decision.isAttempt ? 1 : 0) }),
                \(sorted.map { $0.claim.device?.tokenEpoch ?? 0 }), \(changes.map(\.change)),
                \(changes.map { $0.at ?? none })
            ) AS outcome (bucket, push, device, epoch, state, reason, due_at, tries, token_epoch, change, change_at)
            """
        ).decode(Bool.self)
        var results = [Bool](repeating: false, count: outcomes.count)
        for (index, wasRecorded) in zip(order, recorded) { results[index] = wasRecorded }
        return results
    }

    /// The lengths of the queue.
    struct Survey: Sendable, Equatable {
        struct Length: Sendable, Equatable {
            var caller: String
            var state: TargetState
            var count: Int
        }

        var lengths: [Length] = []
        /// Pushes of each caller whose time has not come.
        var scheduled: [String: Int] = [:]
        /// When the longest waiting target was due; `nil` without any.
        var oldestDueAt: Date?
        /// By PostgreSQL's clock.
        var now = Date(timeIntervalSince1970: 0)

        /// The targets of a caller that are not final.
        func length(of caller: String) -> Int {
            lengths.reduce(0) { $0 + ($1.caller == caller ? $1.count : 0) }
        }
    }

    func survey() async throws(PostgresError) -> Survey {
        let targets = try await database.query(
            """
            SELECT caller, state, count(*), min(due_at), statement_timestamp() FROM push_targets
            WHERE due_at IS NOT NULL GROUP BY caller, state
            """
        ).decode((String, String, Int, Date, Date).self)
        let scheduled = try await database.query(
            "SELECT caller, count(*) FROM pushes WHERE state = 'scheduled' GROUP BY caller"
        ).decode((String, Int).self)
        return Survey(
            lengths: targets.compactMap { row in
                TargetState(rawValue: row.1).map { .init(caller: row.0, state: $0, count: row.2) }
            },
            scheduled: Dictionary(uniqueKeysWithValues: scheduled), oldestDueAt: targets.map(\.3).min(),
            now: targets.first?.4 ?? .now)
    }

    private static func precedes(_ first: PushTarget, _ second: PushTarget) -> Bool {
        guard first.bucket == second.bucket else { return first.bucket.rawValue < second.bucket.rawValue }
        guard first.device == second.device else { return first.device.precedes(second.device) }
        return first.push.precedes(second.push)
    }
}

/// An outcome that is to be recorded.
struct ClaimOutcome: Sendable {
    let claim: ClaimedTarget
    let decision: DeliveryDecision
}

extension UUID {
    fileprivate func precedes(_ other: UUID) -> Bool {
        withUnsafeBytes(of: uuid) { own in
            withUnsafeBytes(of: other.uuid) { own.lexicographicallyPrecedes($0) }
        }
    }
}

extension RegistrationChange {
    /// The last arguments of `record_push_outcome`.
    fileprivate var columns: (change: String, at: Date?) {
        switch self {
        case .none: ("", nil)
        case .accepted: ("accepted", nil)
        case .invalid(let seen): ("invalid", seen)
        case .pause(let until): ("pause", until)
        }
    }
}

extension ClaimedTarget {
    fileprivate init(_ row: PostgresRow) throws(PostgresError) {
        guard let bucket = Bucket(rawValue: try row.decode("bucket")) else {
            throw PostgresError(.decoding, "no bucket has this number")
        }
        let device: ClaimedDevice? =
            try row.decode("token_hash", as: Data?.self) == nil ? nil : try ClaimedDevice(row)
        self.init(
            target: PushTarget(
                bucket: bucket, push: try row.decode("push_id"), device: try row.decode("device_id")),
            user: try row.decode("user_id"), leaseEpoch: try row.decode("lease_epoch"),
            attempts: try row.decode("attempts"), reason: try row.decode("reason"),
            isTakeover: try row.decode("is_takeover"), claimedAt: try row.decode("claimed_at"), device: device)
    }
}

extension ClaimedDevice {
    fileprivate init(_ row: PostgresRow) throws(PostgresError) {
        self.init(
            tokenHash: try row.decode("token_hash"), tokenEpoch: try row.decode("token_epoch"),
            sealedToken: try row.decode("sealed_token"),
            environment: PushEnvironment(rawValue: try row.decode("environment")),
            bundleID: try row.decode("bundle_id"), kind: PushKind(rawValue: try row.decode("kind")),
            isActive: try row.decode("status", as: String.self) == DeviceStatus.active.rawValue,
            statusReason: try row.decode("status_reason"), lastSeenAt: try row.decode("last_seen_at"),
            isProven: try row.decode("apns_accepted_at", as: Date?.self) != nil,
            pausedUntil: try row.decode("apns_paused_until"))
    }
}

extension PushContent {
    fileprivate init?(_ row: PostgresRow) throws(PostgresError) {
        guard let type = PushType(rawValue: try row.decode("push_type")),
            let priority = PushPriority(rawValue: try row.decode("priority")),
            let onDoubt = PushDoubt(rawValue: try row.decode("on_doubt")),
            let urgency = PushUrgency(rawValue: try row.decode("urgency"))
        else { return nil }
        self.init(
            bundleID: try row.decode("bundle_id"),
            environment: try row.decode("environment", as: String?.self).map(PushEnvironment.init(rawValue:)),
            type: type, kind: PushKind(rawValue: try row.decode("kind")), activity: try row.decode("activity"),
            attributesType: try row.decode("attributes_type"), priority: priority,
            collapseID: try row.decode("collapse_id"),
            expiresAt: try row.decode("expires_at"), payload: try row.decode("payload"), onDoubt: onDoubt,
            urgency: urgency)
    }
}
