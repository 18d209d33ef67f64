import Foundation
import GatehouseInstruments
import GatehouseServiceContracts
import Logging
import Postgres
import ServiceKitPostgres
import Synchronization

/// Removes expired rows, a bucket at a time and all buckets within a day. Every replica does, and begins anywhere.
struct ExpiredRegistrationStore: Sendable {
    /// Rows removed in one statement.
    static let batch = 1000
    /// The time between two buckets.
    private static let pause: Duration = .seconds(20)
    /// The time between two batches of one bucket.
    private static let gap: Duration = .milliseconds(100)
    /// Days for which security events are kept: two years.
    private static let eventRetentionDays = 730
    /// Days for which the outcomes of a push are kept after its expiration.
    private static let pushRetentionDays = 7
    /// Days for which an erased user is remembered, as in identity.
    private static let erasureMemoryDays = 760

    enum Table: String, CaseIterable {
        case devices
        case owners = "push_token_owners"
        case events = "security_events"
        case targets = "push_targets"
        case outcomes = "push_outcome_log"
        case counts = "push_user_days"
        case newTokens = "push_token_days"
        case tags = "user_tags"
        case erased = "erased_users"
        case pushes
    }

    let database: PostgresPool
    let unseen: UnseenRules
    private let removed = Purger.counters(
        "devices_purged_rows_total", help: "Rows that were purged.", of: Table.self)

    func purger(logger: Logger) -> Purger {
        let failures = Purger.counters(
            "devices_purge_errors_total", help: "Batches of a purge that failed.", of: Table.self)
        let tables = Table.allCases.map { table in
            let cycle = BucketCycle()
            return Purger.Table(table.rawValue) {
                if try await purge(table, in: cycle.bucket) >= Self.batch { return Self.gap }
                cycle.advance()
                return nil
            }
        }
        return Purger(tables, pause: Self.pause, logger: logger) { failures[$0.name]?.increment() }
    }

    /// Removes a batch. Returns the number of removed rows: ``batch`` or more when others may be left.
    func purge(_ table: Table, in bucket: Bucket) async throws -> Int {
        let count =
            switch table {
            case .devices: try await removeUnseen(in: bucket) + removeVoid(in: bucket)
            case .owners: try await removeOwners(in: bucket)
            case .events: try await removeEvents(in: bucket)
            case .targets: try await removeTargets(in: bucket)
            case .outcomes: try await removeOutcomes()
            case .counts: try await removeCounts(in: bucket)
            case .newTokens: try await removeNewTokens(in: bucket)
            case .tags: try await removeTags(in: bucket)
            case .erased: try await removeErased(in: bucket)
            case .pushes: try await removePushes()
            }
        removed[table.rawValue]?.increment(by: count)
        return count
    }

    private func removeUnseen(in bucket: Bucket) async throws(PostgresError) -> Int {
        try await database.query(
            """
            DELETE FROM devices WHERE bucket = \(bucket) AND id IN (
                SELECT id FROM devices
                WHERE bucket = \(bucket)
                  AND last_seen_at < now() - make_interval(days => \(Int32(unseen.retentionDays)))
                LIMIT \(Self.batch) FOR UPDATE SKIP LOCKED)
            """
        ).affectedRows
    }

    /// Void registrations, which a failure between two steps has left.
    private func removeVoid(in bucket: Bucket) async throws(PostgresError) -> Int {
        try await database.query(
            """
            SELECT remove_void_device(
                devices.bucket, devices.user_id, devices.token_hash, devices.token_epoch, owners.user_id, owners.epoch)
            FROM devices LEFT JOIN push_token_owners AS owners ON owners.token_hash = devices.token_hash
            WHERE devices.bucket = \(bucket)
              AND (owners.user_id, owners.epoch) IS DISTINCT FROM (devices.user_id, devices.token_epoch)
            LIMIT \(Self.batch)
            """
        ).count
    }

    /// Owners whose registration is gone, by the first 12 bits of the hash. A registration in progress has claimed the
    /// token within the hour.
    private func removeOwners(in bucket: Bucket) async throws(PostgresError) -> Int {
        try await database.query(
            """
            DELETE FROM push_token_owners WHERE token_hash IN (
                SELECT token_hash FROM push_token_owners AS owners
                WHERE token_hash >= \(Self.firstHash(in: bucket.rawValue))
                  AND token_hash < \(Self.firstHash(in: bucket.rawValue + 1))
                  AND claimed_at < now() - interval '1 hour'
                  AND NOT EXISTS (
                      SELECT FROM devices
                      WHERE bucket = bucket_of(owners.user_id) AND user_id = owners.user_id
                        AND token_hash = owners.token_hash)
                LIMIT \(Self.batch))
              AND claimed_at < now() - interval '1 hour'
            """
        ).affectedRows
    }

    private func removeEvents(in bucket: Bucket) async throws(PostgresError) -> Int {
        try await database.query(
            """
            DELETE FROM security_events WHERE bucket = \(bucket) AND (user_id, token, epoch) IN (
                SELECT user_id, token, epoch FROM security_events
                WHERE bucket = \(bucket)
                  AND occurred_at < now() - make_interval(days => \(Int32(Self.eventRetentionDays)))
                ORDER BY occurred_at LIMIT \(Self.batch) FOR UPDATE SKIP LOCKED)
            """
        ).affectedRows
    }

    private func removeTargets(in bucket: Bucket) async throws(PostgresError) -> Int {
        try await database.query(
            """
            DELETE FROM push_targets WHERE bucket = \(bucket) AND (push_id, device_id) IN (
                SELECT push_id, device_id FROM push_targets
                WHERE bucket = \(bucket) AND day < current_date - \(Int32(Self.pushRetentionDays))
                LIMIT \(Self.batch) FOR UPDATE SKIP LOCKED)
            """
        ).affectedRows
    }

    /// The oldest entries of the feed. The last of those that are old enough always stays: a reader that had read
    /// everything before the others came goes on behind it.
    private func removeOutcomes() async throws(PostgresError) -> Int {
        try await database.query(
            """
            WITH oldest AS MATERIALIZED (
                SELECT seq, stamped_at FROM push_outcome_log ORDER BY seq LIMIT \(Self.batch + 1)
            ), kept AS (
                SELECT coalesce(min(seq) FILTER (
                    WHERE stamped_at >= now() - make_interval(days => \(Int32(Self.pushRetentionDays)))) - 1,
                    max(seq)) AS seq
                FROM oldest
            )
            DELETE FROM push_outcome_log
            WHERE seq IN (SELECT seq FROM oldest) AND seq < (SELECT seq FROM kept)
            """
        ).affectedRows
    }

    private func removeCounts(in bucket: Bucket) async throws(PostgresError) -> Int {
        try await database.query(
            """
            DELETE FROM push_user_days WHERE bucket = \(bucket) AND (user_id, day) IN (
                SELECT user_id, day FROM push_user_days
                WHERE bucket = \(bucket) AND day < current_date - \(Int32(Self.pushRetentionDays))
                LIMIT \(Self.batch) FOR UPDATE SKIP LOCKED)
            """
        ).affectedRows
    }

    private func removeNewTokens(in bucket: Bucket) async throws(PostgresError) -> Int {
        try await database.query(
            """
            DELETE FROM push_token_days WHERE bucket = \(bucket) AND (user_id, day) IN (
                SELECT user_id, day FROM push_token_days
                WHERE bucket = \(bucket) AND day < current_date - 1
                LIMIT \(Self.batch) FOR UPDATE SKIP LOCKED)
            """
        ).affectedRows
    }

    /// Tags of users without a registration. A caller may tag a user who registers later, and may invent users. Those
    /// of users with a registration count as written anew before, so that the retention begins when it ends.
    private func removeTags(in bucket: Bucket) async throws(PostgresError) -> Int {
        try await database.query(
            """
            UPDATE user_tags SET written_at = now() WHERE bucket = \(bucket) AND (user_id, tag) IN (
                SELECT user_id, tag FROM user_tags AS tags
                WHERE bucket = \(bucket)
                  AND written_at < now() - make_interval(days => \(Int32(unseen.retentionDays / 2)))
                  AND EXISTS (SELECT FROM devices WHERE bucket = \(bucket) AND user_id = tags.user_id)
                LIMIT \(Self.batch) FOR UPDATE SKIP LOCKED)
            """)
        return try await database.query(
            """
            DELETE FROM user_tags WHERE bucket = \(bucket) AND (user_id, tag) IN (
                SELECT user_id, tag FROM user_tags AS tags
                WHERE bucket = \(bucket) AND written_at < now() - make_interval(days => \(Int32(unseen.retentionDays)))
                  AND NOT EXISTS (SELECT FROM devices WHERE bucket = \(bucket) AND user_id = tags.user_id)
                LIMIT \(Self.batch) FOR UPDATE SKIP LOCKED)
            """
        ).affectedRows
    }

    private func removeErased(in bucket: Bucket) async throws(PostgresError) -> Int {
        try await database.query(
            """
            DELETE FROM erased_users WHERE bucket = \(bucket) AND user_hash IN (
                SELECT user_hash FROM erased_users
                WHERE bucket = \(bucket)
                  AND erased_at < now() - make_interval(days => \(Int32(Self.erasureMemoryDays)))
                LIMIT \(Self.batch) FOR UPDATE SKIP LOCKED)
            """
        ).affectedRows
    }

    /// Those of all buckets, and after their targets, each of which is purged within a day.
    private func removePushes() async throws(PostgresError) -> Int {
        try await database.query(
            """
            DELETE FROM pushes WHERE id IN (
                SELECT id FROM pushes WHERE day < current_date - \(Int32(Self.pushRetentionDays + 1))
                LIMIT \(Self.batch) FOR UPDATE SKIP LOCKED)
            """
        ).affectedRows
    }

    /// For a number after the last bucket, a text that sorts after every hash.
    private static func firstHash(in bucket: Int16) -> [UInt8] {
        bucket < Bucket.count
            ? [UInt8(bucket >> 4), UInt8(bucket & 0xF) << 4] : [UInt8](repeating: 0xFF, count: 33)
    }
}

/// Every bucket in turn.
private final class BucketCycle: Sendable {
    private let current = Mutex(Bucket(user: UUID()))

    var bucket: Bucket { current.withLock { $0 } }

    func advance() {
        current.withLock { $0 = Bucket(rawValue: ($0.rawValue + 1) % Bucket.count) ?? $0 }
    }
}
