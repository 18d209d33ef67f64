import Foundation
import GatehouseServiceContracts
import Postgres
import ServiceKitPostgres

/// The slices of pushes to segments in PostgreSQL.
struct PushSliceStore: Sendable {
    /// Slices of a push that a read returns.
    private static let slicesPerPush = 8
    /// Buckets of a statement that counts a segment.
    private static let bucketsAtOnce = 512

    let database: PostgresPool
    let unseen: UnseenRules

    /// Some slices of each push that are due. The open pushes are found one by one in their index.
    func due() async throws(PostgresError) -> [PushSlice] {
        try await database.query(
            """
            WITH RECURSIVE open (caller, push_id) AS (
                (SELECT caller, push_id FROM push_slices WHERE state = 'open' ORDER BY caller, push_id LIMIT 1)
                UNION ALL
                SELECT following.caller, following.push_id FROM open, LATERAL (
                    SELECT caller, push_id FROM push_slices
                    WHERE state = 'open' AND (caller, push_id) > (open.caller, open.push_id)
                    ORDER BY caller, push_id LIMIT 1
                ) AS following
            )
            SELECT open.caller, open.push_id, due.slice FROM open, LATERAL (
                SELECT slice FROM push_slices
                WHERE state = 'open' AND caller = open.caller AND push_id = open.push_id
                  AND due_at <= statement_timestamp()
                LIMIT \(Self.slicesPerPush)
            ) AS due
            WHERE NOT EXISTS (
                SELECT FROM push_rates WHERE push_id = open.push_id AND next_at > statement_timestamp())
            """
        ).decode((String, UUID, Int16).self).map { PushSlice(caller: $0, push: $1, number: $2) }
    }

    /// Claims a slice, and reads its next page. `nil` if it is not due any more, or has no more devices.
    ///
    /// - Parameter lease: how long no other replica sends the page.
    func claim(
        _ slice: PushSlice, as id: UUID = UUID(), lease: Duration, most: Int
    ) async throws(PostgresError) -> SlicePage? {
        try await Self.move(slice, as: id, lease: lease, most: most, unseen, on: database).page
    }

    /// Records what became of a page, moves the slice's cursor, and reads the next page, in one statement. Nothing is
    /// recorded if another replica has claimed the slice.
    ///
    /// - Parameters:
    ///   - id: of the claim of the next page.
    ///   - wait: until the slice is due, if no page follows.
    ///   - most: the devices of the next page; 0 for none.
    /// - Returns: whether it was recorded, and the next page.
    func advance(
        _ page: SlicePage, by progress: SliceProgress, as id: UUID = UUID(), wait: Duration = .zero, lease: Duration,
        most: Int
    ) async throws(PostgresError) -> (wasRecorded: Bool, page: SlicePage?) {
        try await Self.move(
            page.slice, page, progress, as: id, wait: wait, lease: lease, most: most, unseen, on: database)
    }

    /// The outcomes of a page that PostgreSQL refuses, by their places among its progress' outcomes. Changes nothing.
    func refusals(
        of progress: SliceProgress, on page: SlicePage
    ) async throws(PostgresError) -> [Int: PostgresError] {
        var refusals: [Int: PostgresError] = [:]
        let left = await writeSplitting(Array(progress.outcomes.indices)) { (places) throws(PostgresError) in
            var part = progress
            part.outcomes = places.map { progress.outcomes[$0] }
            try await rehearse(part, on: page)
        } refused: { place, error in
            refusals[place] = error
        }
        if let left { throw left.failure }
        return refusals
    }

    /// Records a page, and rolls back.
    private func rehearse(_ progress: SliceProgress, on page: SlicePage) async throws(PostgresError) {
        struct Rehearsed: Error {}
        do {
            try await database.withTransaction { transaction in
                _ = try await Self.move(
                    page.slice, page, progress, as: UUID(), lease: .zero, most: 0, unseen, on: transaction)
                throw Rehearsed()
            }
        } catch let error as PostgresError {
            throw error
        } catch is Rehearsed {
        } catch {
            throw PostgresError(.cancelled, "the task was cancelled", underlying: error)
        }
    }

    private static func move(
        _ slice: PushSlice, _ page: SlicePage? = nil, _ progress: SliceProgress = SliceProgress([]), as id: UUID,
        wait: Duration = .zero, lease: Duration, most: Int, _ unseen: UnseenRules, on database: some PostgresQuerying
    ) async throws(PostgresError) -> (wasRecorded: Bool, page: SlicePage?) {
        let readAt = ContinuousClock.now
        let claims = page?.claims ?? []
        // Without one the cursor moves to the end of the page.
        let last = progress.devices > 0 && progress.devices < claims.count ? claims[progress.devices - 1].target : nil
        let none = Date(timeIntervalSince1970: 0)
        let outcomes = progress.outcomes.map { (claim: claims[$0.index], decision: $0.decision) }
        let changes = outcomes.map(\.decision.registration.columns)
        // An array has no NULL: an empty text and the year 1970 stand for it.
        let rows = try await database.query(
            """
            WITH moved AS MATERIALIZED (
                SELECT is_held, epoch, page FROM advance_push_slice(
                    \(slice.push), \(slice.number), \(page?.epoch), \(last?.bucket.rawValue), \(last?.device),
                    \(Int32(progress.devices)), \(Int32(progress.accepted)), \(Int32(progress.targets)),
                    \(wait / .seconds(1)), \(lease / .seconds(1)), \(Int32(most)), \(Int32(unseen.pauseDays)), \(id))
            ), recorded AS MATERIALIZED (
                SELECT count(add_push_outcome(
                    outcome.bucket, pushes.id, outcome.device, outcome.owner, pushes.caller, pushes.urgency, pushes.day,
                    outcome.state, nullif(outcome.reason, ''), nullif(outcome.due_at, \(none)), outcome.tries,
                    outcome.token_epoch, outcome.change, nullif(outcome.change_at, \(none)))) AS number
                FROM moved, pushes, unnest(
                    \(outcomes.map(\.claim.target.bucket.rawValue)), \(outcomes.map(\.claim.target.device)),
                    \(outcomes.map(\.claim.user)), \(outcomes.map(\.decision.state.rawValue)),
                    \(outcomes.map { $0.decision.reason ?? "" }), \(outcomes.map { $0.decision.dueAt ?? none }),
                    \(outcomes.map { Int32($0.decision.isAttempt ? 1 : 0) }),
                    \(outcomes.map { $0.claim.device?.tokenEpoch ?? 0 }), \(changes.map(\.change)),
                    \(changes.map { $0.at ?? none })
                ) AS outcome (bucket, device, owner, state, reason, due_at, tries, token_epoch, change, change_at)
                WHERE moved.is_held AND pushes.id = \(slice.push)
            )
            SELECT moved.is_held, moved.epoch, claim.device_id, claim.user_id, claim.claimed_at, claim.token_hash,
                claim.token_epoch, claim.sealed_token, claim.environment, claim.last_seen_at, claim.is_proven,
                claim.paused_until, claim.session_id, claim.live_until, claim.locale, claim.time_zone
            FROM moved CROSS JOIN recorded LEFT JOIN LATERAL unnest(moved.page) AS claim ON true
            """
        ).decode(
            (
                Bool, Int64?, UUID?, UUID?, Date?, Data?, Int64?, Data?, String?, Date?, Bool?, Date?, UUID?, Date?,
                String?, String?
            ).self)
        guard let first = rows.first, first.0, let epoch = first.1 else { return (false, nil) }
        var devices: [ClaimedTarget] = []
        devices.reserveCapacity(rows.count)
        for row in rows {
            guard let device = row.2, let user = row.3, let readAt = row.4, let hash = row.5, let tokenEpoch = row.6,
                let sealedToken = row.7, let environment = row.8, let lastSeenAt = row.9, let isProven = row.10,
                let session = row.12
            else { continue }
            devices.append(
                ClaimedTarget(
                    target: PushTarget(bucket: Bucket(user: user), push: slice.push, device: device), user: user,
                    leaseEpoch: epoch, attempts: 0, reason: nil, isTakeover: false, claimedAt: readAt,
                    device: ClaimedDevice(
                        tokenHash: hash, tokenEpoch: tokenEpoch, sealedToken: sealedToken,
                        environment: PushEnvironment(rawValue: environment), refusal: nil, lastSeenAt: lastSeenAt,
                        isProven: isProven, pausedUntil: row.11, session: session, liveUntil: row.13, locale: row.14,
                        timeZone: row.15)))
        }
        return (true, devices.isEmpty ? nil : SlicePage(slice: slice, epoch: epoch, readAt: readAt, claims: devices))
    }

    // MARK: - A push as its caller sees it

    /// Adds the slices of a push that is due.
    static func addSlices(of push: UUID, on transaction: PostgresTransaction) async throws(PostgresError) {
        try await transaction.query(
            """
            INSERT INTO push_slices
                (push_id, slice, caller, first_bucket, last_bucket, cursor_bucket, cursor_device, due_at)
            SELECT id, number, caller, number * width, (number + 1) * width - 1, number * width,
                '00000000-0000-0000-0000-000000000000', statement_timestamp()
            FROM pushes, generate_series(0, slice_count - 1) AS number,
                LATERAL (SELECT \(Int32(Bucket.count)) / slice_count AS width) AS slice
            WHERE id = \(push)
            """)
        try await transaction.query(
            """
            INSERT INTO push_rates (push_id, next_at)
            SELECT id, statement_timestamp() FROM pushes WHERE id = \(push) AND rate_per_minute IS NOT NULL
            """)
    }

    /// The progress of the slices of a push.
    struct Status: Sendable, Equatable {
        var progress: PushStatus.Slices
        /// The devices without a row of their own, by state.
        var counts: [String: Int]

        var isOpen: Bool { progress.done + progress.expired + progress.cancelled < progress.total }
    }

    /// `nil` before the push is due.
    func status(of push: UUID) async throws(PostgresError) -> Status? {
        let row = try await database.query(
            """
            SELECT count(*) AS total, count(*) FILTER (WHERE state = 'done') AS done,
                count(*) FILTER (WHERE state = 'expired') AS expired,
                count(*) FILTER (WHERE state = 'cancelled') AS cancelled,
                coalesce(sum(devices), 0)::bigint AS devices, coalesce(sum(accepted), 0)::bigint AS accepted,
                coalesce(sum(in_doubt), 0)::bigint AS in_doubt
            FROM push_slices WHERE push_id = \(push)
            """)[0]
        let progress = PushStatus.Slices(
            total: try row.decode("total"), done: try row.decode("done"), expired: try row.decode("expired"),
            cancelled: try row.decode("cancelled"), devices: try row.decode("devices"))
        guard progress.total > 0 else { return nil }
        let counts = [
            TargetState.accepted.rawValue: try row.decode("accepted", as: Int.self),
            TargetState.inDoubt.rawValue: try row.decode("in_doubt", as: Int.self),
        ]
        return Status(progress: progress, counts: counts.filter { $0.value > 0 })
    }

    /// Cancels the slices of a push. One that a replica holds is cancelled when its page has ended. Returns how many
    /// there are of both.
    static func cancel(_ push: UUID, on transaction: PostgresTransaction) async throws(PostgresError) -> Int {
        try await transaction.query(
            """
            WITH cancelled AS (
                UPDATE push_slices SET state = 'cancelled'
                WHERE push_id = \(push) AND state = 'open' AND page_bucket IS NULL RETURNING slice
            )
            SELECT (SELECT count(*) FROM cancelled) + (
                SELECT count(*) FROM push_slices
                WHERE push_id = \(push) AND state = 'open' AND page_bucket IS NOT NULL)
            """
        )[0].decode(Int.self)
    }

    // MARK: - Open pushes

    /// Until the commit no other push of the caller to a segment is accepted.
    static func lockOpen(of caller: String, on transaction: PostgresTransaction) async throws(PostgresError) {
        try await transaction.query("SELECT pg_advisory_xact_lock(hashtextextended(\(caller), 0))")
    }

    static func countOpen(
        of caller: String, besides push: UUID, on transaction: PostgresTransaction
    ) async throws(PostgresError) -> Int {
        try await transaction.query(
            """
            SELECT (SELECT count(DISTINCT push_id) FROM push_slices WHERE caller = \(caller) AND state = 'open')
                + (SELECT count(*) FROM pushes WHERE state = 'scheduled' AND caller = \(caller)
                    AND slice_count IS NOT NULL AND id <> \(push))
            """
        )[0].decode(Int.self)
    }

    // MARK: - Counting

    /// About how many registrations there are.
    func registrations() async throws(PostgresError) -> Int {
        let buckets = SegmentRules.sample
        return SegmentRules.total(of: try await registrations(in: buckets), in: buckets.count)
    }

    private func registrations(in buckets: [Int16]) async throws(PostgresError) -> Int {
        try await database.query(
            "SELECT sum(count_devices(bucket))::bigint FROM unnest(\(buckets)) AS bucket")[0].decode(Int.self)
    }

    /// The number of devices of a push to a segment: exact while there are few registrations, otherwise extrapolated.
    func estimate(_ push: ValidPush, _ segment: Segment) async throws(PostgresError) -> (count: Int, isExact: Bool) {
        let buckets = SegmentRules.buckets(sampled: try await registrations(in: SegmentRules.sample))
        let record = segment.record(for: push.content)
        var counted = 0
        for part in buckets.parts(of: Self.bucketsAtOnce) {
            counted += try await database.query(
                """
                SELECT sum(count_segment(
                    bucket, jsonb_populate_record(NULL::push_segment, \(record)), \(Int32(unseen.pauseDays))))::bigint
                FROM unnest(\(part)) AS bucket
                """
            )[0].decode(Int.self)
        }
        return (SegmentRules.total(of: counted, in: buckets.count), buckets.count == Bucket.count)
    }
}

extension Segment {
    /// The fields of the type `push_segment`.
    struct Record: Codable, Sendable {
        var bundle_id: String
        var environment: String?
        var kind: String
        var activity: String?
        var attributes_type: String?
        var locales: String?
        var time_zones: [String]?
        var from_version: [Int64]?
        var below_version: [Int64]?
        var seen_since: Date?
        var alerts_allowed: Bool?
        var all_tags: [String]?
        var any_tags: [String]?
    }

    /// For `jsonb_populate_record`.
    func record(for push: PushContent) -> PostgresJSON<Record> {
        PostgresJSON(
            Record(
                bundle_id: push.bundleID, environment: push.environment?.rawValue, kind: push.kind.rawValue,
                activity: push.activity, attributes_type: push.attributesType, locales: locales, time_zones: timeZones,
                from_version: fromVersion, below_version: belowVersion, seen_since: lastSeenSince,
                alerts_allowed: alertsAllowed, all_tags: allTags, any_tags: anyTags))
    }
}
