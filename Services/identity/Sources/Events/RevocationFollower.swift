import Foundation
import GatehouseInstruments
import GatehouseLimits
import GatehouseServiceContracts
import GatehouseServiceKit
import IdentityCore
import Logging
import ServiceKitPostgres
import ServiceLifecycle

/// Follows tokens' revocation feed, so that the audit log and the events include every session that ends.
///
/// One replica follows at a time. Another replica continues from its position once the claim has expired, or at once
/// where the claim was released.
struct RevocationFollower: Service {
    /// Seconds for which tokens holds a request while there are no new entries.
    static let wait = 20
    /// The pause between two attempts to claim the feed.
    private static let interval = Duration.seconds(1)
    private static let backoff = Backoff(base: .milliseconds(500), maximum: .seconds(8))

    let tokens: TokensClient
    let store: RevocationPositionStore
    let events: EventFeedStore
    let logger: Logger
    private let failures = Counter(
        "identity_revocation_feed_failed_total",
        help: "Failed attempts to read the revocation feed of tokens, or to store its entries.")
    private let resets = Counter(
        "identity_revocation_feed_resets_total",
        help: "How often the feed had to be read from its beginning, with entries lost.")
    private let readAt = Gauge(
        "identity_revocation_feed_read_timestamp_seconds",
        help: "When a replica last read the revocation feed to its end, in seconds since 1970.")

    init(tokens: TokensClient, store: RevocationPositionStore, events: EventFeedStore, logger: Logger) {
        self.tokens = tokens
        self.store = store
        self.events = events
        self.logger = logger
    }

    /// The version of tokens cannot say where its feed ends.
    struct UnknownEnd: Error {}

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await follow() }
                group.addTask {
                    await Periodic(every: .seconds(10)).run {
                        if let time = try await store.readAt() { readAt.set(time.timeIntervalSince1970) }
                        return .afterInterval
                    }
                }
            }
        }
    }

    private func follow() async {
        var claim: RevocationPositionStore.Claim?
        await Periodic(every: Self.interval, backoff: Self.backoff).run {
            if claim == nil { claim = try await store.claim() }
            guard let existing = claim else { return .afterInterval }
            claim = try await readPage(existing)
            return .now
        } onFailure: { error, _ in
            await release(claim)
            claim = nil
            failures.increment()
            logger.warning("revocation feed not read", metadata: ["error": "\(error)"])
        }
        await release(claim)
    }

    /// Reads the page after the claim's cursor, and stores it. Without a cursor it begins at the feed's end.
    /// - Returns: the claim for the next page; `nil` where another process has the feed now.
    func readPage(
        _ claim: RevocationPositionStore.Claim, waiting seconds: Int = wait
    ) async throws -> RevocationPositionStore.Claim? {
        let page = try await tokens.client.revocations(after: claim.cursor ?? RevocationPage.latest, waiting: seconds)
        if page.reset {
            guard claim.cursor != nil else { throw UnknownEnd() }
            // Entries that tokens removed before they were read are lost. The remaining ones are read again.
            logger.error("revocation feed was lost: the audit log and events may lack the end of some sessions")
            resets.increment()
        }
        defer { if !page.entries.isEmpty { events.sequencer.wake() } }
        return try await store.write(page, claim)
    }

    /// If this fails, the claim expires.
    private func release(_ claim: RevocationPositionStore.Claim?) async {
        guard let claim else { return }
        // Runs also when this task has been cancelled.
        await Task { try? await store.release(claim) }.value
    }
}
