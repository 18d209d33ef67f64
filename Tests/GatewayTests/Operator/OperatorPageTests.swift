import Foundation
import GatehouseAccessTokens
import GatehouseObservability
import GatehouseServiceContracts
import GatehouseTokenValidation
import Synchronization
import TestKit
import Testing

@testable import GatehouseServiceKit
@testable import GatewayService

@Suite("The operator's page")
struct OperatorPageTests {
    private func withPage(
        keys: @escaping KeyWatch.Fetch = { SigningKeyList(keys: []) },
        _ body: @Sendable (GatewayHarness, OperatorPage) async throws -> Void
    ) async throws {
        try await GatewayHarness.withGateway { gateway in
            let watch = ReplicaWatch(
                replicas: { [("tokens", "10.0.0.1:8082")] },
                probe: { _ in (200, Data(#"{"status":"ready","version":"<script>"}"#.utf8)) })
            try await body(
                gateway,
                OperatorPage(
                    gateway: gateway.gateway, replicas: watch, keyStates: KeyWatch(fetch: keys),
                    readiness: Readiness(logger: .quiet)))
        }
    }

    @Test("A request for the operator's page: it has this gateway's state")
    func status() async throws {
        try await withPage { gateway, page in
            let status = await page.status(at: .now)
            #expect(status.replicas.map(\.version) == ["<script>"] && status.replicasNotAsked == 0)
            #expect(status.failing == ["start"], "its checks have not run")
            #expect(status.keys.map(\.issuer) == ["http://gatehouse.test"])
            #expect(status.keys.first?.kid == GatehouseKey.thumbprint)
            let seen = try #require(status.keys.first?.seenSince)
            #expect(seen <= .now && status.keys.first?.fetchedAt == seen)
            #expect(status.feed.readAt != nil && status.feed.lostSince == nil && status.feed.revokedSessions == 0)
            // The same key read again is as old as before.
            try gateway.gateway.keys.replace(VerificationKeySet(keys: [GatewayHarness.key.publicKey]))
            let later = await page.status(at: .now)
            #expect(later.keys.first?.seenSince == seen && (later.keys.first?.fetchedAt ?? .distantPast) > seen)
            gateway.gateway.revoked.feedIsLost(now: 1_800_000_000)
            let lost = await page.status(at: .now).feed.lostSince
            #expect(lost == Date(timeIntervalSince1970: 1_800_000_000))
        }
    }

    private struct Outage: Error {}

    @Test("The key that signs is as old as tokens says, and of unknown age where it says nothing")
    func keyAges() async throws {
        let since = Date(timeIntervalSince1970: 1_700_000_000)
        let told: [SigningKeyList.Key] = [
            .init(kid: "another", state: .next, since: .now),
            .init(kid: GatehouseKey.thumbprint, state: .active, since: since),
        ]
        try await withPage(keys: { SigningKeyList(keys: told) }) { _, page in
            let keys = await page.status(at: .now).keys
            #expect(keys.map(\.state) == ["active"] && keys.map(\.since) == [since])
        }
        try await withPage(keys: { throw Outage() }) { _, page in
            let keys = await page.status(at: .now).keys
            #expect(keys.count == 1 && keys[0].state == nil && keys[0].since == nil)
        }
    }

    @Test("tokens is asked once, however many pages are open")
    func keysOnce() async throws {
        let asked = Mutex(0)
        let watch = KeyWatch {
            asked.withLock { $0 += 1 }
            return SigningKeyList(keys: [.init(kid: "k", state: .active)])
        }
        await withTaskGroup(of: Void.self) { pages in
            for _ in 0..<20 { pages.addTask { #expect(await watch.refresh().map(\.kid) == ["k"]) } }
        }
        #expect(asked.withLock { $0 } == 1)
    }

    @Test("Its parts come from the admin port alone, and nothing else may run in it")
    func parts() async throws {
        try await withPage { gateway, page in
            #expect(page.routes.map(\.path) == ["/operator", "/operator.css", "/operator.js", "/operator.json"])
            for route in page.routes { #expect(try await gateway.send("GET \(route.path)").status == 404) }
            let html = String(decoding: try await page.routes[0].body(), as: UTF8.self)
            #expect(page.routes[0].policy.contains("script-src 'self'") && !page.routes[0].policy.contains("unsafe"))
            #expect(html.firstMatch(of: /<script>|<style| style=| on[a-z]+=|https?:/) == nil)
            let script = String(decoding: try await page.routes[2].body(), as: UTF8.self)
            #expect(script.firstMatch(of: /innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|https?:/) == nil)
            let json = try JSONSerialization.jsonObject(with: Data(try await page.routes[3].body())) as? [String: Any]
            #expect((json?["replicas"] as? [Any])?.count == 1)
        }
    }

    private enum GatehouseKey {
        static let thumbprint = GatewayHarness.key.publicKey.thumbprint
    }
}
