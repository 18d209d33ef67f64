import Foundation
import GatehouseServiceContracts
import Postgres
import ServiceKitPostgres

/// The queue of the targets in PostgreSQL, as the sender of a replica sees it.
struct PushQueueStore: Sendable {
    let database: PostgresPool

    /// The targets that are due, at most `limit` of each caller and urgency, the longest due first.
    func due(limit: Int) async throws(PostgresError) -> FairQueue {
        let rows = try await database.query(
            """
            SELECT of_caller, of_urgency, in_bucket, of_push, of_device
            FROM due_push_targets(\(PushUrgency.allCases.map(\.rawValue)), \(limit))
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
    /// - Parameters:
    ///   - id: of this claim. It finds the targets again if the answer is lost (``release(_:)``).
    ///   - lease: how long no other replica sends them.
    func claim(
        _ targets: [PushTarget], as id: UUID = UUID(), lease: Duration
    ) async throws(PostgresError) -> [ClaimedTarget] {
        let rows = try await database.query(
            """
            SELECT target.bucket, target.push, \(unescaped: ClaimedTarget.columns)
            FROM unnest(\(targets.map(\.bucket.rawValue)), \(targets.map(\.push)), \(targets.map(\.device)))
                AS target (bucket, push, device),
                claim_push_target_as(
                    target.bucket, target.push, target.device, \(lease / .seconds(1)), \(id)) AS claim
            """)
        var claims: [ClaimedTarget] = []
        for row in rows {
            if let claim = try ClaimedTarget.Added(row).claim { claims.append(claim) }
        }
        return claims
    }

    /// Gives back what a claim without an answer holds. What another replica has claimed since stays.
    ///
    /// - Returns: how many targets or slices were given back.
    func release(_ extent: LostClaim.Extent) async throws(PostgresError) -> Int {
        switch extent {
        case .targets(let targets, let id):
            let sorted = targets.sorted { Self.precedes($0, $1) }
            return try await database.query(
                """
                SELECT release_push_target(bucket, push, device, \(id))
                FROM unnest(\(sorted.map(\.bucket.rawValue)), \(sorted.map(\.push)), \(sorted.map(\.device)))
                    AS target (bucket, push, device)
                """
            ).decode(Bool.self).count { $0 }
        case .accepted(let push, let buckets):
            return try await database.query(
                """
                SELECT release_accepted_push_targets(bucket, \(push))
                FROM unnest(\(buckets.map(\.rawValue).sorted())) AS bucket
                """
            ).decode(Int.self).reduce(0, +)
        case .slice(let slice, let id):
            return try await database.query("SELECT release_push_slice(\(slice.push), \(slice.number), \(id))")
                .decode(Bool.self).count { $0 }
        }
    }

    /// The claims, each with its registration only if that is its token's owner's.
    func checkingOwners(of claims: [ClaimedTarget]) async throws(PostgresError) -> [ClaimedTarget] {
        let hashes = Set(claims.compactMap { $0.device?.tokenHash })
        let owners = try await TokenOwnerStore(database: database).owners(of: hashes)
        return claims.map { claim in
            guard let device = claim.device,
                owners[device.tokenHash] != TokenOwner(user: claim.user, epoch: device.tokenEpoch)
            else { return claim }
            var void = claim
            void.device = nil
            return void
        }
    }

    /// Keeps when the sessions of claimed devices end unless they are used before. What PostgreSQL refuses is left out,
    /// and read again.
    func keepLiveness(of claims: [ClaimedTarget], _ expirations: [UUID: Date]) async throws(PostgresError) {
        let ends = claims.compactMap { claim in
            claim.device.flatMap { device in
                expirations[device.session].map { (target: claim.target, session: device.session, until: $0) }
            }
        }.sorted { Self.precedes($0.target, $1.target) }
        var refusal: PostgresError?
        let left = await writeSplitting(
            ends, write: { (ends) throws(PostgresError) in try await keepLiveness(ends) },
            refused: { _, error in refusal = error })
        if let failure = left?.failure ?? refusal { throw failure }
    }

    private func keepLiveness(
        _ ends: [(target: PushTarget, session: UUID, until: Date)]
    ) async throws(PostgresError) {
        try await database.query(
            """
            SELECT keep_device_liveness(bucket, device, session, until)
            FROM unnest(
                \(ends.map(\.target.bucket.rawValue)), \(ends.map(\.target.device)), \(ends.map(\.session)),
                \(ends.map(\.until))
            ) AS ended (bucket, device, session, until)
            """)
    }

    /// The contents of pushes, and whether each was cancelled. Those that only a newer version understands are left
    /// out.
    func contents(
        of pushes: Set<UUID>
    ) async throws(PostgresError) -> [UUID: (content: PushContent, isCancelled: Bool)] {
        let rows = try await database.query(
            """
            SELECT pushes.id, state, pushes.bundle_id, pushes.environment, push_type, kind, activity, attributes_type,
                priority, collapse_id, expires_at, payload, locales, localized_payloads, send_at_local, fallback_time_zone,
                quiet_from, quiet_to, cap_per_day, on_doubt, urgency, channel, channel_id, storage, paused_until
            FROM pushes LEFT JOIN push_channels ON push_channels.id = channel
            WHERE pushes.id = ANY (\(Array(pushes)))
            """)
        var contents: [UUID: (content: PushContent, isCancelled: Bool)] = [:]
        for row in rows {
            guard let content = try PushContent(row) else { continue }
            contents[try row.decode("id")] = (content, try row.decode("state", as: String.self) == "cancelled")
        }
        return contents
    }

    /// A push on a device that is to be counted.
    struct CappedClaim: Sendable {
        let claim: ClaimedTarget
        /// Bundle id.
        let app: String
        /// Pushes of the app in a day.
        let cap: Int
    }

    /// Counts pushes with a cap that are about to be sent, once for each user.
    ///
    /// - Parameter userCap: pushes of all apps in a day; `nil` for any number.
    /// - Returns: those of the claims whose user has received as many pushes today as a cap.
    func capped(_ claims: [CappedClaim], userCap: Int?) async throws(PostgresError) -> Set<PushTarget> {
        // Two replicas that count for the same users lock their rows in the same order.
        let sorted = claims.sorted { first, second in
            let (one, other) = (first.claim, second.claim)
            guard one.target.bucket == other.target.bucket else {
                return one.target.bucket.rawValue < other.target.bucket.rawValue
            }
            return one.user == other.user ? one.target.push.precedes(other.target.push) : one.user.precedes(other.user)
        }
        guard !sorted.isEmpty else { return [] }
        let mayBeSent = try await database.query(
            """
            SELECT count_app_push(bucket, user_id, push, app, cap, \(userCap.map(Int32.init)))
            FROM unnest(
                \(sorted.map(\.claim.target.bucket.rawValue)), \(sorted.map(\.claim.user)),
                \(sorted.map(\.claim.target.push)), \(sorted.map(\.app)), \(sorted.map { Int32($0.cap) })
            ) AS claim (bucket, user_id, push, app, cap)
            """
        ).decode(Bool.self)
        return Set(zip(sorted, mayBeSent).filter { !$1 }.map(\.0.claim.target))
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

    /// The lengths of the queue, each counted up to a limit.
    struct Survey: Sendable, Equatable {
        struct Length: Sendable, Equatable {
            var caller: String
            var urgency: PushUrgency
            var state: TargetState
            var count: Int
            /// When the longest waiting of them was due.
            var oldestDueAt: Date
        }

        /// Pushes whose targets are not all there.
        struct Waiting: Sendable, Equatable {
            var pushes: Int
            var recipients: Int
            /// Of payloads and recipients.
            var bytes: Int
        }

        var lengths: [Length] = []
        /// By caller.
        var waiting: [String: Waiting] = [:]
        /// The callers of whom a count failed. What it found before may not hold what they have added since.
        var uncounted: Set<String> = []
        /// By PostgreSQL's clock.
        var now = Date(timeIntervalSince1970: 0)

        /// The targets of a caller that are not final, the recipients of its pushes that wait, and these pushes' bytes.
        func load(of caller: String) -> QueueLoad {
            let waiting = waiting[caller]
            return lengths.reduce(QueueLoad(devices: waiting?.recipients ?? 0, bytes: waiting?.bytes ?? 0)) {
                $1.caller == caller ? $0 + QueueLoad(devices: $1.count) : $0
            }
        }
    }

    /// Counts the queue in a statement for each caller and urgency, so none of them takes long.
    ///
    /// - Parameters:
    ///   - limit: how many targets of each caller and urgency are counted, and pushes of each caller that wait.
    ///   - former: the survey before. Of a count that fails its one stays.
    ///   - report: is told each error but those of the first statement, which is thrown.
    func survey(
        limit: Int, former: Survey = Survey(), report: (any Error) -> Void = { _ in }
    ) async throws(PostgresError) -> Survey {
        let callers = try await database.query("SELECT name, statement_timestamp() FROM push_callers() AS name")
            .decode((String, Date).self)
        var survey = Survey(now: callers.first?.1 ?? .now)
        for (caller, _) in callers {
            for urgency in PushUrgency.allCases {
                do throws(PostgresError) {
                    survey.lengths += try await lengths(of: caller, urgency, limit: limit)
                } catch {
                    report(error)
                    survey.uncounted.insert(caller)
                    survey.lengths += former.lengths.filter { $0.caller == caller && $0.urgency == urgency }
                }
            }
            do throws(PostgresError) {
                survey.waiting[caller] = try await waiting(of: caller, limit: limit)
            } catch {
                report(error)
                survey.uncounted.insert(caller)
                survey.waiting[caller] = former.waiting[caller]
            }
        }
        return survey
    }

    private func lengths(
        of caller: String, _ urgency: PushUrgency, limit: Int
    ) async throws(PostgresError) -> [Survey.Length] {
        try await database.query(
            """
            SELECT in_state, number, oldest
            FROM count_waiting_push_targets(\(caller), \(urgency.rawValue), \(limit))
            """
        ).decode((String, Int, Date).self).compactMap { state, count, oldest in
            TargetState(rawValue: state).map {
                Survey.Length(caller: caller, urgency: urgency, state: $0, count: count, oldestDueAt: oldest)
            }
        }
    }

    /// `nil` without any.
    private func waiting(of caller: String, limit: Int) async throws(PostgresError) -> Survey.Waiting? {
        let (pushes, recipients, bytes) = try await database.query(
            """
            SELECT count(*), coalesce(sum(recipient_count), 0)::bigint, coalesce(sum(bytes), 0)::bigint FROM (
                SELECT recipient_count, bytes FROM pushes WHERE state = 'scheduled' AND caller = \(caller)
                LIMIT \(limit)) AS waiting
            """
        )[0].decode((Int, Int, Int).self)
        return pushes == 0 ? nil : Survey.Waiting(pushes: pushes, recipients: recipients, bytes: bytes)
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
    /// By bytes, as PostgreSQL sorts.
    func precedes(_ other: UUID) -> Bool {
        withUnsafeBytes(of: uuid) { own in
            withUnsafeBytes(of: other.uuid) { own.lexicographicallyPrecedes($0) }
        }
    }
}

extension RegistrationChange {
    /// The last arguments of `record_push_outcome`.
    var columns: (change: String, at: Date?) {
        switch self {
        case .none: ("", nil)
        case .accepted: ("accepted", nil)
        case .invalid(let seen): ("invalid", seen)
        case .pause(let until): ("pause", until)
        // `PushChannelStore` does.
        case .pauseChannel, .removeChannel: ("", nil)
        }
    }
}

extension ClaimedTarget {
    /// Those of `push_claim`.
    static let columns = """
        device_id, user_id, lease_epoch, attempts, reason, is_takeover, claimed_at, token_hash, token_epoch, \
        sealed_token, environment, refusal, last_seen_at, is_proven, paused_until, session_id, live_until, \
        locale, time_zone
        """

    /// A row with a bucket, a push, and ``columns``, which are NULL without a target.
    struct Added {
        let isTarget: Bool
        /// `nil` of a target that is not claimed.
        let claim: ClaimedTarget?

        init(_ row: PostgresRow) throws(PostgresError) {
            let row = try row.decode(
                (
                    Int16?, UUID, UUID?, UUID?, Int64?, Int?, String?, Bool?, Date?, Data?, Int64?, Data?, String?,
                    String?, Date?, Bool?, Date?, UUID?, Date?, String?,
                    String?
                ).self)
            let (bucket, push, device, user, epoch, attempts, reason, isTakeover, claimedAt) = (
                row.0, row.1, row.2, row.3, row.4, row.5, row.6, row.7, row.8
            )
            isTarget = device != nil
            guard let bucket = bucket.flatMap(Bucket.init(rawValue:)), let device, let user, let epoch, let attempts,
                let isTakeover, let claimedAt
            else {
                claim = nil
                return
            }
            var registration: ClaimedDevice?
            if let tokenHash = row.9, let tokenEpoch = row.10, let sealedToken = row.11, let environment = row.12,
                let lastSeenAt = row.14, let isProven = row.15, let session = row.17
            {
                registration = ClaimedDevice(
                    tokenHash: tokenHash, tokenEpoch: tokenEpoch, sealedToken: sealedToken,
                    environment: PushEnvironment(rawValue: environment), refusal: row.13, lastSeenAt: lastSeenAt,
                    isProven: isProven, pausedUntil: row.16, session: session, liveUntil: row.18,
                    locale: row.19, timeZone: row.20)
            }
            claim = ClaimedTarget(
                target: PushTarget(bucket: bucket, push: push, device: device), user: user, leaseEpoch: epoch,
                attempts: attempts, reason: reason, isTakeover: isTakeover, claimedAt: claimedAt,
                device: registration)
        }
    }
}

extension QuietHours {
    fileprivate init?(_ row: PostgresRow) throws(PostgresError) {
        guard let from = try row.decode("quiet_from", as: Int16?.self).flatMap(ClockTime.init(minutes:)),
            let to = try row.decode("quiet_to", as: Int16?.self).flatMap(ClockTime.init(minutes:))
        else { return nil }
        self.init(from: from, to: to)
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
            urgency: urgency, channel: try BroadcastChannel(row))
        if let locales = try row.decode("locales", as: [String]?.self) {
            let payloads = try row.decode("localized_payloads", as: [String].self).map { Array($0.utf8) }
            localizedPayloads = Dictionary(uniqueKeysWithValues: zip(locales, payloads))
        }
        timing = RecipientTiming(
            sendAt: try row.decode("send_at_local", as: String?.self).flatMap(LocalTime.init),
            quietHours: try QuietHours(row), fallbackTimeZone: try row.decode("fallback_time_zone"))
        capPerDay = try row.decode("cap_per_day")
    }
}
