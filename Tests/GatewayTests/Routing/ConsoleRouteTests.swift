import GatehouseServiceContracts
import GatehouseSettings
import Testing

@testable import GatewayService

@Suite("Routes of the operators' console")
struct ConsoleRouteTests {
    @Test("The gateway adds the base path of the API; identity serves the rest, whatever the bearer")
    func forwarded() async throws {
        try await GatewayHarness.withGateway { gateway in
            let settings = try await gateway.send("GET /console/settings.json", token: "junk")
            #expect(settings.status == 200 && settings.body == #"{"basePath":"/v1"}"#)
            #expect(settings["content-type"] == "application/json" && settings["cache-control"] == "no-store")
            #expect(gateway.own.begun == 0)
            for (requests, path) in ["/console", "/console/main.js"].enumerated() {
                #expect(try await gateway.send("GET \(path)", token: "junk").status == 200)
                #expect(gateway.own.begun == requests + 1)
            }
            for path in ["/console/", "/console/main.js/more", "/consoles", "/v1/console", "/Console"] {
                #expect(try await gateway.send("GET \(path)").status == 404, "\(path)")
            }
        }
    }

    @Test("The base path is the first that the setting lists")
    func basePath() {
        let routes = BuiltInRoutes.routes(
            { Upstream(name: $0.rawValue, addresses: [], isGatehouse: true) }, basePaths: ["/sign-in/v1", "/v1"],
            serviceTimeout: .seconds(1))
        let targets = routes.filter { $0.name == BuiltInRoutes.consoleSettingsPath }.map(\.target)
        guard case .consoleSettings("/sign-in/v1")? = targets.first, targets.count == 1 else {
            Issue.record("\(targets)")
            return
        }
    }

    @Test("Without the console a team may use its paths")
    func off() {
        func paths(_ hasConsole: Bool) -> Set<String> {
            let routes = BuiltInRoutes.routes(
                { Upstream(name: $0.rawValue, addresses: [], isGatehouse: true) }, serviceTimeout: .seconds(1),
                hasConsole: hasConsole)
            return Set(routes.map(\.name).filter { $0.hasPrefix("/console") })
        }
        #expect(paths(true) == ["/console", "/console/{file}", "/console/settings.json"])
        #expect(paths(false) == [])
        for path in ["/console", "/console/x", "/Console"] {
            let yaml = "routes:\n  - {name: a, path: \(path), upstreams: 'http://x'}"
            #expect(!RoutesFile(yaml: yaml, environment: [:]).problems.isEmpty, "\(path)")
            #expect(RoutesFile(yaml: yaml, environment: [:], hasConsole: false).problems.isEmpty, "\(path)")
        }
    }

    @Test("The console exists unless the setting is false", arguments: [nil, "true", "false"])
    func setting(_ value: String?) {
        var environment = [
            "GATEHOUSE_ENVIRONMENT": "development", "GATEWAY_TOKENS_URL": "http://127.0.0.1:1",
            "GATEWAY_IDENTITY_URL": "http://127.0.0.1:2", "GATEWAY_DEVICES_URL": "http://127.0.0.1:3",
            "GATEWAY_TOKENS_CREDENTIAL": "dev-a", "GATEWAY_IDENTITY_CREDENTIAL": "dev-b",
            "GATEWAY_DEVICES_CREDENTIAL": "dev-c",
        ]
        environment["GATEWAY_CONSOLE"] = value
        let configuration = GatewayConfiguration(Settings(service: "gateway", environment: environment))
        #expect(configuration.routeTable.contains("/console") == (value != "false"))
    }
}
