import Contracts
import Foundation
import Instruments
import Logging
import ServiceKit
import ServiceLifecycle

/// Follows tokens' revocation feed, so that the audit log and the events tell of every session that ends.
///
/// One replica follows at a time. Another goes on where it stopped once its claim has run out, or at once where it could
/// release it.
struct RevocationFollower: Service {
    /// Seconds for which tokens holds a request while there are no new entries.
    static let wait = 20
    /// Between two looks at whether the feed is free.
    private static let interval = Duration.seconds(1)
    private static let backoff: ClosedRange<Double> = 0.5...8

    let tokens: TokensClient
    let store: RevocationStore
    let logger: Logger
    private let failures = Counter(
        "identity_revocation_feed_failed_total",
        help: "Attempts to read the revocation feed of tokens, or to write down what it tells, that failed.")
    private let resets = Counter(
        "identity_revocation_feed_resets_total",
        help: "How often the feed had to be read from its beginning, with entries lost.")
    private let readAt = Gauge(
        "identity_revocation_feed_read_timestamp_seconds",
        help: "When a replica has last read the revocation feed to its end, in seconds since 1970.")

    init(tokens: TokensClient, store: RevocationStore, logger: Logger) {
        self.tokens = tokens
        self.store = store
        self.logger = logger
    }

    /// tokens is of a version that cannot say where its feed ends.
    struct UnknownEnd: Error {}

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await follow() }
                group.addTask {
                    while !Task.isCancelled {
                        if let time = try? await store.readAt() { readAt.set(time.timeIntervalSince1970) }
                        try? await Task.sleep(for: .seconds(10))
                    }
                }
            }
        }
    }

    private func follow() async {
        var claim: RevocationStore.Claim?
        var pause = Self.backoff.lowerBound
        while !Task.isCancelled {
            do {
                if claim == nil { claim = try await store.claim() }
                if let held = claim {
                    claim = try await readPage(held)
                    pause = Self.backoff.lowerBound
                } else {
                    try await Task.sleep(for: Self.interval)
                }
            } catch {
                await release(claim)
                claim = nil
                if Task.isCancelled { return }
                failures.increment()
                logger.warning("revocation feed not read", metadata: ["error": "\(error)"])
                try? await Task.sleep(for: .seconds(pause * Double.random(in: 0.5...1)))
                pause = min(pause * 2, Self.backoff.upperBound)
            }
        }
        await release(claim)
    }

    /// Asks for the page after the claim's cursor, and writes it down. Whoever has never read begins at the end.
    /// - Returns: what to go on with; `nil` where another process has the feed now.
    func readPage(
        _ claim: RevocationStore.Claim, waiting seconds: Int = wait
    ) async throws -> RevocationStore.Claim? {
        let page = try await tokens.client.revocations(after: claim.cursor ?? RevocationPage.latest, waiting: seconds)
        if page.reset {
            guard claim.cursor != nil else { throw UnknownEnd() }
            // What tokens has removed before it was read is lost; what it has is read again.
            logger.error("revocation feed was lost: the end of some sessions may not be told")
            resets.increment()
        }
        return try await store.write(page, claim)
    }

    /// Should this fail, the claim runs out.
    private func release(_ claim: RevocationStore.Claim?) async {
        guard let claim else { return }
        // Also where this task has been cancelled.
        await Task { try? await store.release(claim) }.value
    }
}
