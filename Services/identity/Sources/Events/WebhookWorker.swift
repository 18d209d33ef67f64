import AsyncHTTPClient
import Foundation
import GatehouseInstruments
import GatehouseServiceContracts
import GatehouseServiceKit
import IdentityCore
import Logging
import NIOCore
import ServiceLifecycle

/// Posts events to each webhook, in the order of the feed. A failed event is retried without limit, and no later event
/// is sent before it.
struct WebhookWorker: Service {
    let webhooks: [Webhook]
    let store: WebhookStore
    let feed: EventFeedStore
    let sender: WebhookSender
    /// Days for which events are kept; `nil` for ever.
    let retention: Int?
    let logger: Logger
    private let metrics: [String: Metrics]

    /// The pause between two attempts when no events wait.
    private static let interval = 1.0

    private struct Metrics: Sendable {
        var delivered: Counter
        var failed: Counter
        var age: Gauge

        init(_ webhook: Webhook) {
            let labels = [("webhook", webhook.name)]
            delivered = Counter(
                "identity_webhook_events_total", help: "Events that a webhook's receiver has accepted.", labels: labels)
            failed = Counter(
                "identity_webhook_failed_total", help: "Attempts to post to a webhook that failed.", labels: labels)
            age = Gauge(
                "identity_webhook_oldest_event_age_seconds",
                help: "Age of the oldest event that could not be delivered to a webhook's receiver; 0 for none.",
                labels: labels)
        }
    }

    init(
        webhooks: [Webhook], store: WebhookStore, feed: EventFeedStore, sender: WebhookSender, retention: Int?,
        logger: Logger
    ) {
        self.webhooks = webhooks
        self.store = store
        self.feed = feed
        self.sender = sender
        self.retention = retention
        self.logger = logger
        metrics = Dictionary(webhooks.map { ($0.url.absoluteString, Metrics($0)) }) { first, _ in first }
    }

    func run() async throws {
        guard !webhooks.isEmpty else { return try await gracefulShutdown() }
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                for webhook in webhooks {
                    group.addTask {
                        await Periodic(every: .seconds(Self.interval)).run {
                            await work(on: webhook) ? .now : .afterInterval
                        }
                    }
                }
                group.addTask {
                    await Periodic(every: .seconds(10)).run {
                        await measure()
                        return .afterInterval
                    }
                }
            }
        }
    }

    /// Delivers what is due for one webhook.
    /// - Returns: whether more events wait.
    func work(on webhook: Webhook) async -> Bool {
        do {
            if let claim = try await store.claim(webhook) { return try await deliver(to: webhook, claim) }
            // A known webhook is claimed by another process, or is not due.
            if try await !store.knows(webhook) {
                try await store.add(webhook, cursor: feed.page(after: EventFeedStore.latest, waitingUntil: .now).cursor)
            }
            return false
        } catch {
            if !Task.isCancelled {
                logger.warning(
                    "A webhook could not be processed",
                    metadata: ["webhook": "\(webhook.name)", "error": "\(error)"])
            }
            return false
        }
    }

    private func deliver(to webhook: Webhook, _ claim: WebhookStore.Claim) async throws -> Bool {
        var page = try await feed.page(after: claim.cursor, waitingUntil: .now)
        let rules = WebhookCatchUp(through: claim.through, retention: retention)
        page.events.removeAll { !rules.isWanted($0.occurredAt) }
        page.reset = page.reset && rules.isGap(now: .now)
        if !page.events.isEmpty || page.reset {
            do {
                try await sender.send(page, to: webhook)
            } catch {
                return await postpone(webhook, claim, oldest: page.events.first?.occurredAt, error)
            }
            metrics[webhook.url.absoluteString]?.delivered.increment(by: page.events.count)
        }
        try await store.advance(
            webhook, claim, to: page.cursor, newest: page.events.map(\.occurredAt).max(),
            seconds: page.more ? 0 : Self.interval)
        return page.more
    }

    private func postpone(
        _ webhook: Webhook, _ claim: WebhookStore.Claim, oldest: Date?, _ error: any Error
    ) async -> Bool {
        let delay = OutboxSchedule.delay(after: claim.attempts, spread: .random(in: 0...1))
        // If this fails, the webhook is due again when the claim expires.
        try? await store.postpone(webhook, claim, oldest: oldest, seconds: delay)
        guard !Task.isCancelled else { return false }
        metrics[webhook.url.absoluteString]?.failed.increment()
        logger.warning(
            "A webhook's receiver has not taken events; they will be sent again",
            metadata: ["webhook": "\(webhook.name)", "attempts": "\(claim.attempts)", "error": "\(error)"])
        return false
    }

    private func measure() async {
        guard let standings = try? await store.standings() else { return }
        for standing in standings { metrics[standing.url]?.age.set(max(0, standing.oldestAge ?? 0)) }
    }
}

/// Posts events to a webhook.
struct WebhookSender: Sendable {
    let httpClient: HTTPClient

    /// Longer than a receiver should need, and shorter than a claim lasts.
    static let timeout = Duration.seconds(10)

    func send(_ page: AccountEventPage, to webhook: Webhook) async throws {
        let body = Array(try JSON.encode(page))
        try await httpClient.post(
            body, toHook: webhook.url, HookSignature.header,
            HookSignature.value(of: body, at: .now, secret: webhook.secret),
            timeout: .seconds(Int64(Self.timeout.components.seconds)))
    }
}

/// Operator commands for webhooks.
struct WebhookAdministration: Sendable {
    let store: WebhookStore
    let feed: EventFeedStore

    /// A webhook, and its delivery position.
    struct Entry: Sendable, Encodable {
        var url: String
        /// Everything before it is delivered.
        var cursor: String
        /// Since the last successful attempt.
        var failedAttempts: Int
        var deliveredAt: Date?
        /// The age of the oldest event that waits after a failed attempt.
        var oldestEventAge: Int?
    }

    /// Every webhook that was ever configured.
    func list() async throws -> [Entry] {
        try await store.standings().map { standing in
            Entry(
                url: standing.url, cursor: standing.cursor, failedAttempts: standing.attempts,
                deliveredAt: standing.deliveredAt, oldestEventAge: standing.oldestAge.map { Int($0) })
        }
    }

    /// Delivers the events after a cursor, including those that were delivered before.
    /// - Parameter cursor: a cursor that the receiver was sent; empty for everything that is kept; `latest` to skip
    ///   everything that waits.
    func replay(_ url: String, after cursor: String) async throws {
        var cursor = cursor
        if cursor == EventFeedStore.latest { cursor = try await feed.page(after: cursor, waitingUntil: .now).cursor }
        guard try await store.replay(url, after: cursor) else {
            throw CommandFailure(description: "There is no webhook \(url).")
        }
    }
}
