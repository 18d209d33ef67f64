import Contracts
public import Foundation
import ServiceKit

/// What operators do with webhooks, for the command line.
public struct WebhookAdministration: Sendable {
    let store: WebhookStore
    let feed: EventFeed

    /// A webhook, and how far its receiver has come.
    public struct Entry: Sendable, Encodable {
        public var url: String
        /// Everything before it is delivered.
        public var cursor: String
        /// Since the last one that succeeded.
        public var failedAttempts: Int
        public var deliveredAt: Date?
        /// Of the oldest event that waits after an attempt that failed.
        public var oldestEventAge: Int?
    }

    /// Runs `body` with the settings of the environment, as the service would read them.
    public static func run(_ body: (WebhookAdministration) async throws -> Void) async throws {
        let configuration = try ServiceConfiguration<IdentityApplication>.loadOrExit().application
        try await IdentityParts.run(configuration) { try await body($0.webhookAdministration) }
    }

    /// Every webhook that was ever set.
    public func list() async throws -> [Entry] {
        try await store.standings().map { standing in
            Entry(
                url: standing.url, cursor: standing.cursor, failedAttempts: standing.attempts,
                deliveredAt: standing.deliveredAt, oldestEventAge: standing.oldestAge.map { Int($0) })
        }
    }

    /// Has a receiver sent what comes after a cursor, again if need be.
    /// - Parameter cursor: one that the receiver was sent; empty for everything that is kept; `latest` for nothing of
    ///   before.
    public func replay(_ url: String, after cursor: String) async throws {
        var cursor = cursor
        if cursor == EventFeed.latest { cursor = try await feed.page(after: cursor, waitingUntil: .now).cursor }
        guard try await store.replay(url, after: cursor) else {
            throw UserAdministration.Failure(description: "There is no webhook \(url).")
        }
    }
}
