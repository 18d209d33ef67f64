import Foundation
import GatehouseServiceContracts
import Logging
import Postgres
import ServiceKitPostgres

/// The pushes in PostgreSQL as their callers see them: accepted, looked up, cancelled, replayed.
struct PushStore: Sendable {
    /// Targets or dead letters of a page.
    static let pageSize = 100
    /// Buckets of a statement that reads targets. A push to a segment may have millions.
    private static let bucketsAtOnce = 256
    /// Buckets of a statement that changes targets, which takes longer.
    private static let bucketsOfChange = 16
    /// Seconds for which an idempotency key is kept.
    static let keyLifetime: TimeInterval = 86_400
    /// Recipients or buckets of a statement of a dry run.
    private static let countedAtOnce = 100

    let database: PostgresPool
    /// For dry runs, which read many devices: registrations and pushes do not wait for them.
    private let dryRuns: PostgresPool
    let slices: PushSliceStore
    /// Pushes to segments of one caller that may be open.
    let bulkLimit: Int
    private let logger: Logger

    /// - Parameters:
    ///   - dryRuns: the pool of dry runs; `nil` for `database`.
    ///   - unseen: leaves devices out of segments.
    init(
        database: PostgresPool, dryRuns: PostgresPool? = nil, unseen: UnseenRules, bulkLimit: Int = 20, logger: Logger
    ) {
        self.database = database
        self.dryRuns = dryRuns ?? database
        slices = PushSliceStore(database: database, unseen: unseen)
        self.bulkLimit = bulkLimit
        self.logger = logger
    }

    /// The outcome of a request to push.
    enum Acceptance: Sendable, Equatable {
        /// - Parameter isNew: whether this request added targets that wait in the queue, or will.
        case accepted(PushAccepted, isNew: Bool)
        /// The caller has used the key for another request within a day.
        case keyReused
        /// Too many pushes of the caller to segments are open.
        case tooManyOpen
    }

    // MARK: - Accepting

    /// Keeps a push. The targets of one that is due at once and names few devices come with it, in one statement; those
    /// of a larger one a ``PushStarter`` adds. A request with a known key and the same hash gets the first answer.
    ///
    /// - Parameters:
    ///   - key: `nil` for a request that is never repeated.
    ///   - hash: SHA-256 of the request.
    ///   - window: of a sender, which sends at once what it has room for. Without it, all targets are queued.
    func accept(
        _ push: ValidPush, of caller: String, key: String?, hash: Data, through window: SendWindow? = nil
    ) async throws -> Acceptance {
        let id = UUID()
        for _ in 0..<3 {
            let kept: Kept?
            do {
                kept =
                    push.segment == nil && (push.sendAt != nil || StartRules.isAddedAtOnce(push))
                    ? try await keep(push, id, of: caller, key: key, hash: hash, through: window)
                    : try await keepInSteps(push, id, of: caller, key: key, hash: hash)
            } catch is TooManyOpen {
                return .tooManyOpen
            }
            if let kept {
                return .accepted(
                    PushAccepted(id: id.uuidString.lowercased(), devices: kept.devices),
                    isNew: kept.devices.map { kept.claimed < $0 } ?? true)
            }
            if let former = try await former(key ?? "", of: caller) {
                return former.hash == hash ? .accepted(former.answer, isNew: false) : .keyReused
            }
            // A key that is older than a day is taken from its push.
            try await database.query(
                """
                UPDATE pushes SET idempotency_key = NULL
                WHERE caller = \(caller) AND idempotency_key = \(key)
                  AND created_at < statement_timestamp() - make_interval(secs => \(Self.keyLifetime))
                """)
        }
        throw PostgresError(.transactionAborted, "the key was taken and given back")
    }

    /// What a request has kept.
    private struct Kept {
        /// `nil` while targets are missing.
        var devices: Int?
        /// Those among them that the window's sender holds.
        var claimed = 0
    }

    /// - Returns: `nil` if the key is taken.
    private func keep(
        _ push: ValidPush, _ id: UUID, of caller: String, key: String?, hash: Data, through window: SendWindow?
    ) async throws -> Kept? {
        let isDue = push.sendAt == nil
        let reservation =
            isDue ? window?.reserve(recipients: push.recipients.count, urgency: push.content.urgency) : nil
        var handover: SendWindow.Handover?
        defer { if let reservation { window?.end(reservation, handover) } }
        // Before the statement: so the lease that PostgreSQL keeps ends later.
        let claimedAt = ContinuousClock.now
        let added: [ClaimedTarget.Added]
        do throws(PostgresError) {
            let rows = try await database.query(
                Self.acceptance(
                    of: push, id, of: caller, key: key, hash: hash, reservation: reservation,
                    beginning: isDue ? .withTargets : .later))
            if rows.isEmpty { return nil }
            added = try rows.map { row throws(PostgresError) in try ClaimedTarget.Added(row) }
        } catch {
            if let reservation, error.mayHaveClaimed {
                let extent = LostClaim.Extent.accepted(push: id, buckets: Set(push.recipients.map(\.bucket)))
                window?.lose(LostClaim(extent, lostUntil: claimedAt + reservation.lease))
            }
            throw error
        }
        handover = SendWindow.Handover(
            claims: added.compactMap(\.claim), content: push.content, claimedAt: claimedAt)
        return Kept(
            devices: isDue ? added.count { $0.isTarget } : nil, claimed: added.count { $0.claim != nil })
    }

    /// The same for a push to a segment, and for one whose targets are not added with it. Nothing of it is sent at
    /// once.
    private func keepInSteps(
        _ push: ValidPush, _ id: UUID, of caller: String, key: String?, hash: Data
    ) async throws -> Kept? {
        let isSegment = push.segment != nil
        let sliceCount =
            isSegment ? SegmentRules.sliceCount(registrations: try await slices.registrations()) : nil
        let hasOneStep = StartRules.possibleDevices(of: push.recipients) <= StartRules.devicesWithPush
        let beginning: Beginning =
            push.sendAt != nil ? .later : isSegment ? .withSlices : hasOneStep ? .withOneStep : .inSteps
        return try await database.withTransaction { [bulkLimit] transaction in
            if isSegment { try await PushSliceStore.lockOpen(of: caller, on: transaction) }
            let kept = try await transaction.query(
                Self.acceptance(
                    of: push, id, of: caller, key: key, hash: hash, reservation: nil, sliceCount: sliceCount,
                    beginning: beginning))
            if kept.isEmpty { return nil }
            if isSegment, try await PushSliceStore.countOpen(of: caller, besides: id, on: transaction) >= bulkLimit {
                throw TooManyOpen()
            }
            switch beginning {
            case .withSlices: try await PushSliceStore.addSlices(of: id, on: transaction)
            case .withOneStep:
                let step = try await PushStarter.addRecipients(
                    of: id, devices: StartRules.devicesWithPush, on: transaction)
                return Kept(devices: step.devices)
            case .withTargets, .inSteps, .later: break
            }
            return Kept()
        }
    }

    /// Rolls back the insertion.
    private struct TooManyOpen: Error {}

    /// Counts the devices of a push, and keeps nothing.
    func dryRun(_ push: ValidPush) async throws -> PushAccepted {
        if let segment = push.segment {
            let (count, isExact) = try await PushSliceStore(database: dryRuns, unseen: slices.unseen)
                .estimate(push, segment)
            return PushAccepted(devices: count, isEstimate: isExact ? nil : true)
        }
        let content = push.content
        var devices: Set<UUID> = []
        for recipients in push.recipients.parts(of: Self.countedAtOnce) {
            devices.formUnion(
                try await dryRuns.query(
                    """
                    SELECT found.device_id
                    FROM unnest(
                        \(recipients.map(\.bucket.rawValue)), \(recipients.map(\.kind.rawValue)),
                        \(recipients.map(\.id)), \(recipients.map(\.user))
                    ) AS recipient (bucket, kind, id, user_id),
                        find_push_devices(
                            recipient.bucket, recipient.kind, recipient.id, recipient.user_id, \(content.bundleID),
                            \(content.kind.rawValue), \(content.activity), \(content.attributesType),
                            \(content.environment?.rawValue)) AS found
                    """
                ).decode(UUID.self))
        }
        return PushAccepted(devices: devices.count)
    }

    /// How the targets of a push come into the queue.
    private enum Beginning {
        /// With the push, in one statement.
        case withTargets
        /// As one step, in the push's transaction.
        case withOneStep
        /// After the acceptance.
        case inSteps
        /// When the push is due.
        case later
        /// Those of a segment, from its slices.
        case withSlices

        var state: String {
            switch self {
            case .withTargets, .withSlices: "sending"
            case .withOneStep, .inSteps, .later: "scheduled"
            }
        }
    }

    /// The statement that keeps a push. It waits for a concurrent request with the key. No row if the key is taken,
    /// otherwise one for each target, or one without.
    private static func acceptance(
        of push: ValidPush, _ id: UUID, of caller: String, key: String?, hash: Data,
        reservation: SendWindow.Reservation?, sliceCount: Int? = nil, beginning: Beginning
    ) -> PostgresQuery {
        let content = push.content
        let segment = push.segment.map { $0.record(for: content) }
        let recipients = push.recipients
        let timing = content.timing
        let localized = content.localizedPayloads.sorted { $0.key < $1.key }
        let locales = localized.isEmpty ? nil : localized.map(\.key)
        let payloads = localized.isEmpty ? nil : localized.map { String(decoding: $0.value, as: UTF8.self) }
        return """
            WITH kept AS (
                INSERT INTO pushes
                    (id, caller, idempotency_key, request_hash, state, send_at, expires_at, day, bundle_id, environment,
                     push_type, kind, activity, attributes_type, priority, collapse_id, payload, locales,
                     localized_payloads, send_at_local, fallback_time_zone, quiet_from, quiet_to, cap_per_day,
                     on_doubt, urgency, recipient_buckets, recipient_kinds, recipient_ids, recipient_users,
                     channel, segment, slice_count, rate_per_minute, recipient_count, bytes)
                VALUES (\(id), \(caller), \(key), \(hash), \(beginning.state),
                    CASE WHEN \(beginning == .inSteps) THEN now() ELSE \(push.sendAt) END,
                    \(content.expiresAt), (\(content.expiresAt) AT TIME ZONE 'UTC')::date, \(content.bundleID),
                    \(content.environment?.rawValue), \(content.type.rawValue), \(content.kind.rawValue),
                    \(content.activity), \(content.attributesType), \(Int16(content.priority.rawValue)),
                    \(content.collapseID), \(content.payload), \(locales), \(payloads), \(timing.sendAt?.text),
                    \(timing.fallbackTimeZone), \(timing.quietHours?.from.minutes),
                    \(timing.quietHours?.to.minutes), \(content.capPerDay.map(Int32.init)),
                    \(content.onDoubt.rawValue), \(content.urgency.rawValue), \(recipients.map(\.bucket.rawValue)),
                    \(recipients.map(\.kind.rawValue)), \(recipients.map(\.id)), \(recipients.map(\.user)),
                    \(content.channel?.id),
                    CASE WHEN \(segment != nil) THEN jsonb_populate_record(NULL::push_segment, \(segment)) END,
                    \(sliceCount.map(Int16.init)), \(push.ratePerMinute.map(Int32.init)),
                    \(Int32(push.recipientCount)), \(Int32(clamping: push.bytes)))
                ON CONFLICT (caller, idempotency_key) DO NOTHING
                RETURNING id, bundle_id, kind, activity, attributes_type, environment AS for_environment, caller, urgency,
                    day, recipient_buckets, recipient_kinds, recipient_ids, recipient_users
            )
            SELECT target.bucket, kept.id, \(unescaped: ClaimedTarget.columns) FROM kept LEFT JOIN LATERAL (
                SELECT recipient.bucket, claim.* FROM
                    unnest(recipient_buckets, recipient_kinds, recipient_ids, recipient_users) WITH ORDINALITY
                        AS recipient (bucket, kind, id, user_id, position),
                    add_push_targets(
                        recipient.bucket, recipient.kind, recipient.id, recipient.user_id, kept.id, bundle_id,
                        kept.kind, activity, attributes_type, for_environment, caller, urgency,
                        statement_timestamp() + make_interval(secs => \(StartRules.interval) * (recipient.position - 1)),
                        day, \(Int32(reservation?.targetsOfRecipient ?? 0)), \((reservation?.lease ?? .zero) / .seconds(1))
                    ) AS claim
                WHERE \(beginning == .withTargets)
            ) AS target ON true
            """
    }

    /// The push with this key, unless the key is free again.
    func former(
        _ key: String, of caller: String
    ) async throws(PostgresError) -> (hash: Data, answer: PushAccepted)? {
        let rows = try await database.query(
            """
            SELECT id, request_hash, send_at IS NULL AND slice_count IS NULL, (
                SELECT coalesce(sum(counted.number), 0)::bigint
                FROM unnest(ARRAY(SELECT DISTINCT unnest(recipient_buckets))) AS bucket,
                    count_push_targets(bucket, pushes.id) AS counted
            ) + greatest(0, unknown_devices - \(StartRules.unknownDevices))
            FROM pushes
            WHERE caller = \(caller) AND idempotency_key = \(key)
              AND created_at >= statement_timestamp() - make_interval(secs => \(Self.keyLifetime))
            """)
        guard let (id, hash, hadTargets, devices) = try rows.first?.decode((UUID, Data, Bool, Int).self) else {
            return nil
        }
        return (hash, PushAccepted(id: id.uuidString.lowercased(), devices: hadTargets ? devices : nil))
    }

    // MARK: - Looking up

    /// The push of this caller, with its devices after `cursor`.
    func status(of push: UUID, of caller: String, after cursor: TargetCursor?) async throws -> PushStatus? {
        let rows = try await database.query(
            """
            SELECT
                CASE WHEN state = 'scheduled' AND (send_at = created_at OR recipients_done > 0) THEN 'sending'
                    ELSE state END,
                state = 'scheduled', created_at, CASE WHEN send_at <> created_at AND send_at_local IS NULL THEN send_at END,
                send_at_local, expires_at, slice_count IS NOT NULL,
                greatest(0, unknown_devices - \(StartRules.unknownDevices))
            FROM pushes WHERE id = \(push) AND caller = \(caller)
            """)
        guard let row = rows.first else { return nil }
        // The targets are read after the push, to which a step may add some meanwhile.
        let (state, isAdding, createdAt, sendAt, sendAtLocal, expiresAt, isSegment, unlisted) = try row.decode(
            (String, Bool, Date, Date?, String?, Date, Bool, Int).self)
        // Before the targets, which a slice may add meanwhile.
        let slices = isSegment ? try await slices.status(of: push) : nil
        let buckets = try await buckets(of: push)
        var counts: [String: Int] = [:]
        for part in buckets.parts(of: Self.bucketsAtOnce) {
            let counted = try await database.query(
                """
                SELECT counted.in_state, sum(counted.number)::bigint
                FROM unnest(\(part)) AS bucket, count_push_targets(bucket, \(push)) AS counted GROUP BY 1
                """
            ).decode((String, Int).self)
            for (state, number) in counted { counts[state, default: 0] += number }
        }
        if unlisted > 0 { counts[TargetState.suppressed.rawValue, default: 0] += unlisted }
        // A segment may have targets in every bucket.
        let rest = buckets.filter { $0 >= cursor?.bucket ?? 0 }
        var page: [PostgresRow] = []
        for part in rest.parts(of: Self.bucketsAtOnce) where page.count <= Self.pageSize {
            page += try await database.query(
                """
                SELECT t.bucket, t.device_id, t.user_id, t.state, t.reason, t.updated_at, t.attempts
                FROM unnest(\(part)) AS bucket,
                    list_push_targets(
                        bucket, \(push), CASE WHEN bucket = \(cursor?.bucket) THEN \(cursor?.device) END,
                        \(Self.pageSize + 1)) AS t
                ORDER BY t.bucket, t.device_id LIMIT \(Self.pageSize + 1)
                """)
        }
        let entries = try page.prefix(Self.pageSize).map(PushStatus.Entry.init)
        let isOpen =
            isAdding || slices?.isOpen == true
            || counts.keys.contains { TargetState(rawValue: $0)?.isFinal == false }
        return PushStatus(
            id: push, state: state == "sending" && !isOpen ? .done : PushState(rawValue: state), createdAt: createdAt,
            sendAt: sendAt, sendAtLocal: sendAtLocal, expiresAt: expiresAt,
            counts: counts.merging(slices?.counts ?? [:], uniquingKeysWith: +),
            slices: slices?.progress, devices: entries,
            next: page.count > Self.pageSize
                ? try page.prefix(Self.pageSize).last.map {
                    TargetCursor(bucket: try $0.decode("bucket"), device: try $0.decode("device_id")).text
                } : nil)
    }

    private func buckets(of push: UUID) async throws(PostgresError) -> [Int16] {
        try await database.query("SELECT push_buckets(\(push)) AS bucket ORDER BY bucket").decode(Int16.self)
    }

    /// Cancels what is not sent yet. A push of which nothing is left to send stays done. Returns whether the push is
    /// this caller's.
    ///
    /// From the first commit nothing more is claimed to be sent. Targets that the request does not reach in its time
    /// end when they are due.
    func cancel(_ push: UUID, of caller: String) async throws -> Bool {
        let buckets = try await buckets(of: push)
        switch try await markCancelled(push, in: buckets, of: caller) {
        case .unknown: return false
        case .nothingOpen: return true
        case .cancelled:
            for part in buckets.parts(of: Self.bucketsOfChange) {
                do {
                    try await database.query(
                        "SELECT count(cancel_push_targets(bucket, \(push))) FROM unnest(\(part)) AS bucket")
                } catch {
                    logUnreached("not all targets of a push could be cancelled at once", of: push, error)
                    break
                }
            }
            return true
        }
    }

    private enum Cancellation {
        case unknown
        case nothingOpen
        case cancelled
    }

    private func markCancelled(_ push: UUID, in buckets: [Int16], of caller: String) async throws -> Cancellation {
        try await database.withTransaction { transaction in
            let rows = try await transaction.query(
                """
                SELECT state FROM pushes WHERE id = \(push) AND caller = \(caller) FOR UPDATE
                """)
            guard let state = try rows.first?.decode(String.self) else { return .unknown }
            if state == "sending", try await PushSliceStore.cancel(push, on: transaction) == 0 {
                var isOpen = false
                for part in buckets.parts(of: Self.bucketsAtOnce) where !isOpen {
                    isOpen = try await transaction.query(
                        """
                        SELECT EXISTS (
                            SELECT FROM unnest(\(part)) AS bucket, count_push_targets(bucket, \(push)) AS counted
                            WHERE counted.in_state IN ('queued', 'retryAt', 'claimed'))
                        """
                    )[0].decode(Bool.self)
                }
                guard isOpen else { return .nothingOpen }
            }
            // A target in flight that becomes due again is claimed after this, and ends then.
            _ = try await transaction.commit(after: "UPDATE pushes SET state = 'cancelled' WHERE id = \(push)")
            return .cancelled
        }
    }

    // MARK: - What a user did not receive

    /// Targets of a user that are listed.
    static let undeliveredLimit = 50
    /// Those among them of devices that are not registered, which a caller may have invented.
    static let unknownLimit = 10

    /// The user's newest targets that ended otherwise than with Apple's acceptance, the newest first. Devices that are
    /// not registered take no place of others.
    func undelivered(to user: UUID) async throws -> UndeliveredPushList {
        let failed = try await database.query(
            """
            SELECT push_id, device_id, caller, state, reason, updated_at, attempts FROM push_targets
            WHERE bucket = \(Bucket(user: user)) AND user_id = \(user) AND due_at IS NULL AND state <> 'accepted'
              AND reason IS DISTINCT FROM 'noDevice'
            ORDER BY updated_at DESC LIMIT \(Self.undeliveredLimit)
            """
        ).decode((UUID, UUID, String, String, String?, Date, Int).self)
        let unknown = try await database.query(
            """
            SELECT push_id, device_id, caller, state, reason, updated_at, attempts FROM push_targets
            WHERE bucket = \(Bucket(user: user)) AND user_id = \(user) AND due_at IS NULL AND reason = 'noDevice'
            ORDER BY updated_at DESC LIMIT \(min(Self.unknownLimit, Self.undeliveredLimit - failed.count))
            """
        ).decode((UUID, UUID, String, String, String?, Date, Int).self)
        let targets = (failed + unknown).sorted { $0.5 > $1.5 }
        let pushes = try await database.query(
            "SELECT id, bundle_id, push_type FROM pushes WHERE id = ANY(\(Array(Set(targets.map(\.0)))))"
        ).decode((UUID, String, String).self)
        let contents = Dictionary(uniqueKeysWithValues: pushes.map { ($0.0, (app: $0.1, type: $0.2)) })
        return UndeliveredPushList(
            entries: targets.map { push, device, caller, state, reason, at, attempts in
                UndeliveredPushList.Entry(
                    push: push, device: device, caller: caller, bundleId: contents[push]?.app,
                    pushType: contents[push]?.type, state: PushTargetState(rawValue: state), reason: reason, at: at,
                    attempts: attempts)
            })
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

    /// Sorts before every id.
    static let zero = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

    /// Queues the dead letters of a push again. Returns how many: all, or those that the request reaches in its time.
    /// The others stay dead letters, and another replay queues them. `nil` for another caller's push and for one that
    /// was cancelled.
    func replay(_ push: UUID, of caller: String, until expiresAt: Date) async throws -> Int? {
        let rows = try await database.query(
            """
            UPDATE pushes SET expires_at = greatest(expires_at, \(expiresAt)),
                day = (greatest(expires_at, \(expiresAt)) AT TIME ZONE 'UTC')::date
            WHERE id = \(push) AND caller = \(caller)
              AND (state = 'sending' OR state = 'scheduled' AND recipients_done > 0) RETURNING id
            """)
        guard !rows.isEmpty else { return nil }
        var count = 0
        for part in try await buckets(of: push).parts(of: Self.bucketsOfChange) {
            do {
                count += try await database.query(
                    """
                    SELECT sum(replay_push_targets(bucket, \(push), (\(expiresAt) AT TIME ZONE 'UTC')::date))
                    FROM unnest(\(part)) AS bucket
                    """
                )[0].decode(Int.self)
            } catch {
                if count == 0 { throw error }
                logUnreached("not all dead letters of a push could be queued again", of: push, error)
                break
            }
        }
        return count
    }

    // MARK: - Logging

    /// Logs why a request did not reach all targets of a push. The caller's answer does not contain the error.
    private func logUnreached(_ message: Logger.Message, of push: UUID, _ error: any Error) {
        logger.error(message, error: error, metadata: ["push_id": "\(push.uuidString.lowercased())"])
    }
}

extension Array {
    /// Parts of at most `count` elements.
    func parts(of count: Int) -> some Sequence<[Element]> {
        stride(from: 0, to: self.count, by: count).lazy.map { Array(self[$0..<Swift.min($0 + count, self.count)]) }
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
