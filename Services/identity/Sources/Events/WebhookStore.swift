import Foundation
import Postgres

/// The delivery position of each webhook (table `webhooks`).
struct WebhookStore: Sendable {
    let database: PostgresPool

    /// The next delivery of a webhook, claimed by a process.
    struct Claim: Sendable {
        var cursor: String
        var attempts: Int
        /// When the newest delivered event happened; `nil` where everything after the cursor has to be delivered.
        var through: Date?
        /// Changes when an operator sets the cursor, so that a delivery in progress does not overwrite it.
        var revision: Int64
    }

    /// A webhook as operators see it.
    struct Standing: Sendable {
        var url: String
        var cursor: String
        var attempts: Int
        var deliveredAt: Date?
        /// The age in seconds of the oldest event that could not be delivered; `nil` where there is none.
        var oldestAge: Double?
    }

    /// Seconds for which a webhook belongs to the process that claimed it. Longer than an attempt takes.
    static let claimLifetime = 20.0

    /// Adds a new webhook. It receives the events from now on.
    func add(_ webhook: Webhook, cursor: String) async throws {
        try await database.query(
            """
            INSERT INTO webhooks (url, cursor, through) VALUES (\(webhook.url.absoluteString), \(cursor), now())
            ON CONFLICT (url) DO NOTHING
            """)
    }

    func knows(_ webhook: Webhook) async throws -> Bool {
        try await !database.query("SELECT url FROM webhooks WHERE url = \(webhook.url.absoluteString)").isEmpty
    }

    /// Claims the webhook, if it is due. No other process gets it until the claim expires.
    func claim(_ webhook: Webhook) async throws -> Claim? {
        try await database.query(
            """
            UPDATE webhooks SET attempts = attempts + 1, revision = revision + 1,
                next_attempt_at = now() + make_interval(secs => \(Self.claimLifetime))
            WHERE url = \(webhook.url.absoluteString) AND next_attempt_at <= now()
            RETURNING cursor, attempts::bigint, through, revision
            """
        ).first.map { row in
            let (cursor, attempts, through, revision) = try row.decode((String, Int, Date?, Int64).self)
            return Claim(cursor: cursor, attempts: attempts, through: through, revision: revision)
        }
    }

    /// Stores that everything before `cursor` is delivered.
    /// - Parameters:
    ///   - newest: when the newest event of this delivery happened; `nil` where there was none.
    ///   - seconds: until the next attempt.
    func advance(_ webhook: Webhook, _ claim: Claim, to cursor: String, newest: Date?, seconds: Double) async throws {
        try await database.query(
            """
            UPDATE webhooks SET cursor = \(cursor), attempts = 0, oldest_at = NULL,
                delivered_at = CASE WHEN \(newest) IS NULL THEN delivered_at ELSE now() END,
                through = greatest(through, \(newest)),
                next_attempt_at = now() + make_interval(secs => \(seconds))
            WHERE url = \(webhook.url.absoluteString) AND revision = \(claim.revision)
            """)
    }

    /// Schedules a retry.
    /// - Parameter oldest: when the first undelivered event happened.
    func postpone(_ webhook: Webhook, _ claim: Claim, oldest: Date?, seconds: Double) async throws {
        try await database.query(
            """
            UPDATE webhooks SET oldest_at = coalesce(\(oldest), oldest_at),
                next_attempt_at = now() + make_interval(secs => \(seconds))
            WHERE url = \(webhook.url.absoluteString) AND revision = \(claim.revision)
            """)
    }

    /// Delivers everything after `cursor`, including events that were delivered before.
    /// - Returns: whether there is such a webhook.
    func replay(_ url: String, after cursor: String) async throws -> Bool {
        try await database.query(
            """
            UPDATE webhooks SET cursor = \(cursor), attempts = 0, oldest_at = NULL, through = NULL,
                revision = revision + 1, next_attempt_at = now()
            WHERE url = \(url)
            """
        ).affectedRows == 1
    }

    func standings() async throws -> [Standing] {
        try await database.query(
            """
            SELECT url, cursor, attempts::bigint, delivered_at,
                extract(epoch FROM now() - oldest_at)::double precision AS oldest_age
            FROM webhooks ORDER BY url
            """
        ).map(Standing.init)
    }
}

extension WebhookStore.Standing {
    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            url: try row.decode("url"), cursor: try row.decode("cursor"), attempts: try row.decode("attempts"),
            deliveredAt: try row.decode("delivered_at"), oldestAge: try row.decode("oldest_age"))
    }
}
