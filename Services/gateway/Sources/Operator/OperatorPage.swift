import Bytes
import Contracts
import Foundation
import Observability
import ServiceKit
import Settings
import TokenValidation

/// A page for whoever runs Gatehouse, on the admin port alone: what there is and how it does. It changes nothing.
///
/// Its script asks for `/operator.json` and `/metrics` every two seconds, and writes what it is told as text.
struct OperatorPage: Sendable {
    let gateway: Gateway
    let replicas: ReplicaWatch
    let keyStates: KeyWatch
    let readiness: Readiness

    /// Everything comes from here, and nothing that is written into the page can be run.
    private static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
        form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'
        """

    var routes: [AdminRoute] {
        [
            AdminRoute("/operator", contentType: "text/html; charset=utf-8", policy: Self.policy) {
                PackageResources.operator_html
            },
            AdminRoute("/operator.css", contentType: "text/css; charset=utf-8") { PackageResources.operator_css },
            AdminRoute("/operator.js", contentType: "text/javascript; charset=utf-8") { PackageResources.operator_js },
            AdminRoute("/operator.json", contentType: "application/json") {
                Array(try JSON.encode(await status(at: .now)))
            },
        ]
    }

    func status(at time: Date) async -> OperatorStatus {
        async let told = keyStates.look()
        let statuses = await replicas.look()
        let feed = gateway.revoked.feed
        return OperatorStatus(
            at: time, version: GatehouseVersion.number, revision: GatehouseVersion.revision(),
            startedAt: Telemetry.startedAt, failing: readiness.failing, replicas: statuses,
            replicasNotAsked: await replicas.notAsked, keys: keys(await told),
            feed: OperatorStatus.Feed(
                readAt: feed.readAt.map(Self.date), lostSince: feed.lostAt.map(Self.date),
                revokedSessions: gateway.revoked.count))
    }

    /// - Parameter told: what tokens says of its own keys, which are those of the first issuer.
    private func keys(_ told: [SigningKeyList.Key]) -> [OperatorStatus.Key] {
        zip(gateway.keys.issuers, gateway.keys.history).enumerated().flatMap { place, known in
            let (issuer, history) = known
            return history.seenSince.sorted { $0.key < $1.key }.map { kid, since in
                let own = place == 0 ? told.first { $0.kid.isVerbatim(kid) } : nil
                return OperatorStatus.Key(
                    issuer: issuer.issuer, kid: kid, seenSince: since, state: own?.state.rawValue, since: own?.since,
                    fetchedAt: history.fetchedAt)
            }
        }
    }

    private static func date(_ seconds: Int64) -> Date { Date(timeIntervalSince1970: TimeInterval(seconds)) }
}
