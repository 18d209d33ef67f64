import Foundation
import GatehouseServiceContracts
import TestKit
import Testing

/// `<service> describe` of the built programs, with an empty environment.
@Suite struct DescribeTests {
    private static let names = ["gateway", "identity", "tokens", "devices"]

    private struct Description: Decodable {
        struct Setting: Decodable {
            let name: String
            let meaning: String
            let required: Bool
            let secret: Bool
            let `default`: String?
            let developmentDefault: String?
        }
        struct Metric: Decodable {
            let name: String
            let help: String
            let labels: [String]
        }
        struct Route: Decodable {
            let method: String
            let path: String
        }

        let service: String
        let settings: [Setting]
        let metrics: [Metric]
        let routes: [Route]

        func setting(_ name: String) throws -> Setting { try #require(settings.first { $0.name == name }) }
    }

    private func output(of program: String, _ arguments: [String]) async throws -> String {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID())-describe")
        defer { try? FileManager.default.removeItem(at: file) }
        let process = try TestProcess(BuiltPrograms.path(of: program), arguments, environment: [:], output: file)
        let status = await process.waitForExit()
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(status == 0, "\(text)")
        return text
    }

    private func describe(_ program: String) async throws -> Description {
        try JSONDecoder().decode(
            Description.self, from: Data(await output(of: program, ["describe", "--json"]).utf8))
    }

    @Test(arguments: names)
    func everySettingAndMetricIsListedOnceWithAText(_ name: String) async throws {
        let description = try await describe(name)
        #expect(description.service == name)
        for names in [description.settings.map(\.name), description.metrics.map(\.name)] {
            #expect(names.count > 10)
            #expect(names == Set(names).sorted())
        }
        #expect(description.settings.allSatisfy { !$0.meaning.isEmpty })
        #expect(description.metrics.allSatisfy { !$0.help.isEmpty })
        let table = try await output(of: name, ["describe"])
        #expect(table.contains("\(name.uppercased())_SHUTDOWN_GRACE  20  "))
    }

    @Test func requiredSettingsSecretsAndDefaultsAreNamed() async throws {
        let tokens = try await describe("tokens")
        let issuer = try tokens.setting("TOKENS_ISSUER")
        #expect(issuer.required && issuer.default == nil)
        #expect(issuer.developmentDefault == "http://gatehouse.localhost")
        let security = try tokens.setting("TOKENS_REDIS_TLS")
        #expect(security.default == "required" && security.developmentDefault == "optional")
        let limit = try tokens.setting("TOKENS_SESSION_LIMIT")
        #expect(!limit.required && limit.default == "100" && limit.developmentDefault == nil)
        for name in ["TOKENS_DATABASE_URL", "TOKENS_GATEWAY_CREDENTIALS", "TOKENS_SIGNING_KEY"] {
            #expect(try tokens.setting(name).secret)
        }
    }

    /// Also those that a service exposes only with a setting, or after an event.
    @Test(arguments: [
        (
            "gateway",
            [
                "gatehouse_gateway_tls_certificate_expiry_timestamp_seconds", "gatehouse_gateway_upstream_unhealthy",
                "http_server_requests_total", "redis_commands_total", "redis_rate_limit_fallbacks_total",
            ]
        ),
        (
            "identity",
            [
                "identity_key_info", "identity_unverified_accounts_removed_total",
                "identity_webhook_oldest_event_age_seconds", "postgres_errors_total",
            ]
        ),
        ("tokens", ["tokens_oldest_prepared_transaction_seconds", "tokens_signing_key_state_timestamp_seconds"]),
        (
            "devices",
            [
                "devices_key_info", "gatehouse_build_info", "gatehouse_trace_spans_dropped_total",
                "process_memory_limit_bytes",
            ]
        ),
    ])
    func everyMetricIsListed(_ name: String, _ expected: [String]) async throws {
        let metrics = try await describe(name).metrics
        #expect(Set(expected).subtracting(metrics.map(\.name)).isEmpty)
        #expect(metrics.first { $0.name == "gatehouse_build_info" }?.labels == ["version", "revision"])
    }

    /// The gateway forwards each route of the public contract, and its owner serves it. No service serves another one.
    @Test func theRoutesAreThoseOfTheContract() async throws {
        let health = ["/livez", "/readyz"]
        for name in Self.names {
            let routes = try await describe(name).routes
            let contract = PublicRoute.all.filter { name == "gateway" || $0.owner.rawValue == name }
            for route in contract {
                #expect(
                    routes.contains { $0.method == route.method && matches($0.path, route.path) },
                    "\(name) does not serve \(route.method) \(route.path)")
            }
            #expect(health.allSatisfy { path in routes.contains { $0.path == path } })
            let others = ["/internal/", "/api/v1/"] + health + (name == "gateway" ? ["/openapi", "/docs"] : [])
            for route in routes where !others.contains(where: route.path.hasPrefix) {
                #expect(
                    contract.contains { $0.method == route.method && matches(route.path, $0.path) },
                    "\(name) serves \(route.method) \(route.path)")
            }
        }
    }

    /// Whether a path is the template, or has other segments where the template has parameters.
    private func matches(_ path: String, _ template: String) -> Bool {
        let (segments, parts) = (path.split(separator: "/"), template.split(separator: "/"))
        return segments.count == parts.count && zip(segments, parts).allSatisfy { $0 == $1 || $1.hasPrefix("{") }
    }
}
