import Foundation
import GatehouseBytes
import GatehouseLimits
import GatehouseObservability
import GatehouseServiceContracts
import GatehouseServiceKit
import GatehouseSettings
import GatehouseTokenValidation
import HTTPTypes

/// A read-only status page for operators, on the admin port only.
///
/// Its script requests `/operator.json` and `/metrics` every two seconds, and inserts the responses as text.
struct OperatorPage: Sendable {
    let gateway: Gateway
    let replicas: ReplicaWatch
    let keyStates: KeyWatch
    let readiness: Readiness

    /// The page loads only from this origin, and runs no inline script.
    private static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
        form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'
        """

    var routes: [AdminPortRoute] {
        [
            AdminPortRoute("/operator", contentType: "text/html; charset=utf-8", policy: Self.policy) {
                PackageResources.operator_html
            },
            AdminPortRoute("/operator.css", contentType: "text/css; charset=utf-8") { PackageResources.operator_css },
            AdminPortRoute("/operator.js", contentType: "text/javascript; charset=utf-8") {
                PackageResources.operator_js
            },
            AdminPortRoute("/operator.json", contentType: "application/json") {
                Array(try JSON.encode(await status(at: .now)))
            },
        ]
    }

    func status(at time: Date) async -> OperatorStatus {
        async let signingKeys = keyStates.refresh()
        let statuses = await replicas.refresh()
        let feed = gateway.revoked.feed
        return OperatorStatus(
            at: time, version: GatehouseVersion.number, revision: GatehouseVersion.revision(),
            startedAt: Telemetry.startedAt, failing: readiness.failing, replicas: statuses,
            replicasNotAsked: await replicas.notProbed, keys: keys(await signingKeys),
            feed: OperatorStatus.Feed(
                readAt: feed.readAt.map(Self.date), lostSince: feed.lostAt.map(Self.date),
                revokedSessions: gateway.revoked.count))
    }

    /// - Parameter signingKeys: the keys that tokens reports, which are those of the first issuer.
    private func keys(_ signingKeys: [SigningKeyList.Key]) -> [OperatorStatus.Key] {
        zip(gateway.keys.issuers, gateway.keys.history).enumerated().flatMap { index, known in
            let (issuer, history) = known
            return history.seenSince.sorted { $0.key < $1.key }.map { kid, since in
                let own = index == 0 ? signingKeys.first { $0.kid.isVerbatim(kid) } : nil
                return OperatorStatus.Key(
                    issuer: issuer.issuer, kid: kid, seenSince: since, state: own?.state.rawValue, since: own?.since,
                    fetchedAt: history.fetchedAt)
            }
        }
    }

    private static func date(_ seconds: Int64) -> Date { Date(timeIntervalSince1970: TimeInterval(seconds)) }
}

/// The data of the operator's page besides the metrics: the processes, and the age of this gateway's information.
struct OperatorStatus: Encodable, Equatable {
    struct Key: Encodable, Equatable {
        var issuer: String
        var kid: String
        /// When this gateway first saw the key. The key may be older.
        var seenSince: Date
        /// The state that tokens reports; `nil`: tokens did not report it, or the key is another issuer's.
        var state: String?
        /// When the key entered that state; `nil`: unknown.
        var since: Date?
        /// When the issuer's keys were last read or fetched.
        var fetchedAt: Date?
    }

    struct Feed: Encodable, Equatable {
        /// When the feed was last read to its end; `nil`: never.
        var readAt: Date?
        /// When the feed became unreadable; `nil` while it can be read.
        var lostSince: Date?
        var revokedSessions: Int
    }

    /// When this status was made, by this process's clock.
    var at: Date
    var version: String
    var revision: String?
    var startedAt: Date
    /// Why this gateway is not ready; empty when it is.
    var failing: [String]
    var replicas: [ReplicaStatus]
    /// Replicas that are not probed, because there are too many.
    var replicasNotAsked: Int
    var keys: [Key]
    var feed: Feed
}

/// Fetches the state of the keys from tokens while an operator's page is open.
actor KeyWatch {
    typealias Fetch = @Sendable () async throws -> SigningKeyList

    /// All open pages share a response for this time. Keys change a few times a year.
    private static let lifetime = Duration.seconds(10)
    private static let timeout = Duration.seconds(1)

    private let fetch: Fetch
    private var fetchedAt: ContinuousClock.Instant?
    private var fetching: Task<[SigningKeyList.Key], Never>?
    private var present: [SigningKeyList.Key] = []

    init(fetch: @escaping Fetch) {
        self.fetch = fetch
    }

    init(of tokens: ServiceClient) {
        self.init {
            // All open pages share the answer, so no request's deadline applies.
            try await Deadline.with(.after(Self.timeout)) { try await tokens.send(.get, "/internal/keys") }
        }
    }

    /// The keys as tokens reported them at most ten seconds ago. Empty if tokens could not be reached, or is too old to
    /// support the request.
    func refresh() async -> [SigningKeyList.Key] {
        if let fetchedAt, fetchedAt.duration(to: .now) < Self.lifetime { return present }
        if let fetching { return await fetching.value }
        let task = Task { [fetch] in (try? await fetch())?.keys ?? [] }
        fetching = task
        present = await task.value
        fetching = nil
        fetchedAt = .now
        return present
    }
}
