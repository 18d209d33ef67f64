import Foundation

/// What the operator's page shows beside the metrics: which processes there are, and what this one knows since when.
struct OperatorStatus: Encodable, Equatable {
    struct Key: Encodable, Equatable {
        var issuer: String
        var kid: String
        /// When this gateway first saw it. The key may be older.
        var seenSince: Date
        /// What it is for, as tokens says; `nil`: tokens did not say, or it is another issuer's.
        var state: String?
        /// Since when it is in that state; `nil`: nobody knows.
        var since: Date?
        /// When the issuer's keys were last read or fetched.
        var fetchedAt: Date?
    }

    struct Feed: Encodable, Equatable {
        /// When it was last read to its end; `nil`: never.
        var readAt: Date?
        /// Since when it cannot be read; `nil` while it can.
        var lostSince: Date?
        var revokedSessions: Int
    }

    /// When this was put together, by this process' clock.
    var at: Date
    var version: String
    var revision: String?
    var startedAt: Date
    /// Why this gateway is not ready; empty when it is.
    var failing: [String]
    var replicas: [ReplicaStatus]
    /// Replicas that are not asked, because there are too many.
    var replicasNotAsked: Int
    var keys: [Key]
    var feed: Feed
}
