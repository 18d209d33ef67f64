import Foundation
import GatehouseInstruments
import GatehouseLimits
import GatehouseServiceContracts
import GatehouseServiceKit
import Logging
import ServiceKitPostgres
import ServiceLifecycle

/// Follows tokens' revocation feed for as long as the service runs, and detaches the devices of revoked sessions.
///
/// PostgreSQL holds the cursor, so that no entry is missed while the service is down. Each replica follows the feed;
/// the first one to move the cursor past a page applies the page.
struct RevocationConsumer: Service {
    /// Seconds that tokens holds a request open while the feed has no new entries.
    static let wait = 20
    /// The same while pushes are pending, so that a lost connection is noticed before they are sent for long.
    static let pendingWait = 1
    private static let purgeBatch = 1000
    private static let backoff = Backoff(base: .milliseconds(100), maximum: .seconds(1))

    let tokens: ServiceClient
    let store: RevokedSessionStore
    let activity: PushActivity
    let logger: Logger
    private let resets = Counter(
        "devices_revocation_feed_resets_total",
        help: "How often the feed had to be read from its beginning, and every registered session was checked.")
    private let metrics = RevocationFeedMetrics(
        isLost: Gauge(
            "devices_revocation_feed_lost", help: "1 while the revocation feed of tokens cannot be read."),
        readAt: Gauge(
            "devices_revocation_feed_read_timestamp_seconds",
            help: "When the revocation feed was last read to its end, in seconds since 1970."),
        delay: DurationHistogram(
            "devices_revocation_delay_seconds",
            help: "Time from a session's revocation until this service received it."))
    private let detached = Counter(
        "devices_detached_total", help: "Registrations that were detached from a revoked session.")

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await RevocationFeedFollower(backoff: Self.backoff, metrics: metrics, logger: logger).follow { mayWait in
                .read(try await readPage(waits: mayWait))
            }
        }
    }

    /// Fetches the page after the cursor and applies it.
    private func readPage(waits: Bool) async throws -> RevocationPage {
        let position = try await store.position()
        if let session = position.checkedThrough { try await checkSessions(after: session) }
        let page =
            waits && position.checkedThrough == nil
            ? try await waitForPage(after: position.cursor)
            : try await tokens.revocations(after: position.cursor, waiting: 0)
        if page.reset {
            // Entries may be lost. The sessions that have registrations are checked one by one instead.
            logger.warning("revocation feed is read again from its beginning, and registered sessions are checked")
            resets.increment()
        }
        let isNew = !page.entries.isEmpty || page.cursor != position.cursor || position.isStale(at: .now)
        if isNew, let count = try await store.apply(page, after: position.cursor) {
            detached.increment(by: count)
        }
        if !page.more, !page.reset, position.checkedThrough == nil { activity.feedWasRead() }
        while try await store.purge(batch: Self.purgeBatch) == Self.purgeBatch {}
        return page
    }

    /// A long wait ends when pushes come.
    private func waitForPage(after cursor: String?) async throws -> RevocationPage {
        let starts = activity.starts.count
        if !activity.isPending {
            let page = try await withThrowingTaskGroup(of: RevocationPage?.self) { group in
                group.addTask { try await tokens.revocations(after: cursor, waiting: Self.wait) }
                group.addTask {
                    await activity.starts.wait(after: starts, until: .now + .seconds(2 * Self.wait))
                    return nil
                }
                defer { group.cancelAll() }
                return try await group.next() ?? nil
            }
            if let page { return page }
        }
        return try await tokens.revocations(after: cursor, waiting: Self.pendingWait)
    }

    /// Asks tokens about the next sessions with registrations, and detaches the devices of those that have ended.
    private func checkSessions(after session: UUID) async throws {
        let sessions = try await store.registeredSessions(after: session, limit: LiveSessions.most)
        let live = sessions.isEmpty ? [] : Set(try await tokens.liveSessions(among: sessions).ids)
        let end = sessions.count == LiveSessions.most ? sessions.last : nil
        let ended = sessions.filter { !live.contains($0) }
        detached.increment(by: try await store.detach(ended, checkedFrom: session, through: end) ?? 0)
    }
}
