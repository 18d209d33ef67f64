import Contracts
import NIOHPACK
import NIOHTTP1
import ServiceKit
import Settings
import TestKit
import Testing

@testable import GatewayService

@Suite("The operators' console")
struct ConsoleTests {
    /// The page and each kind of what it loads, with its type.
    static let kinds = [
        ("/console", "text/html; charset=utf-8"), ("/console/main.js", "text/javascript; charset=utf-8"),
        ("/console/console.css", "text/css; charset=utf-8"), ("/console/icon.svg", "image/svg+xml"),
    ]

    @Test("Its files, without bearer and with a bad one, from the gateway alone")
    func served() async throws {
        try await GatewayHarness.withGateway { gateway in
            for (path, type) in Self.kinds {
                for token in [nil, "junk"] {
                    let answer = try await gateway.send("GET \(path)", token: token)
                    #expect(answer.status == 200 && answer["content-type"] == type, "\(path)")
                    #expect(answer["content-length"] == "\(answer.body.utf8.count)" && !answer.body.isEmpty)
                }
            }
            for file in ConsoleFiles.parts {
                #expect(try await gateway.send("GET /console/\(file.name)").status == 200, "\(file.name)")
            }
            #expect(gateway.own.begun == 0)
        }
    }

    @Test("Each says what may be run and loaded, and who may hold it", arguments: Self.kinds.map(\.0))
    func fields(_ path: String) async throws {
        try await GatewayHarness.withGateway { gateway in
            let answer = try await gateway.send("GET \(path)")
            let policy = try #require(answer["content-security-policy"])
            let rules = policy.split(separator: "; ").map(String.init)
            #expect(
                Set(rules) == [
                    "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
                    "img-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
                    "require-trusted-types-for 'script'", "trusted-types 'none'",
                ])
            #expect(answer["x-content-type-options"] == "nosniff" && answer["referrer-policy"] == "no-referrer")
            #expect(answer["cross-origin-opener-policy"] == "same-origin")
            #expect(answer["cross-origin-resource-policy"] == "same-origin")
            #expect(answer["cache-control"] == "no-cache")
        }
    }

    @Test(
        "HEAD has the same fields and no body; other methods are told which there are",
        arguments: Self.kinds.map(\.0))
    func methods(_ path: String) async throws {
        try await GatewayHarness.withGateway { gateway in
            let client = try await gateway.connect()
            try await client.send(GatewayHarness.request("HEAD \(path)"))
            let head = try await client.answer(toHead: true)
            // On the same connection: a body would stand in front of this one's head.
            try await client.send(GatewayHarness.request("GET \(path)"))
            let get = try await client.answer()
            #expect(head.status == 200 && get.status == 200)
            for name in ["content-type", "content-length", "etag", "cache-control", "content-security-policy"] {
                #expect(head[name] == get[name], "\(name)")
            }
            for method in ["POST", "PUT", "DELETE", "PATCH"] {
                let refusal = try await gateway.send("\(method) \(path)")
                #expect(refusal.status == 405 && refusal["allow"] == "GET, HEAD")
            }
        }
    }

    @Test("Who has it already is told so", arguments: Self.kinds.map(\.0))
    func known(_ path: String) async throws {
        try await GatewayHarness.withGateway { gateway in
            let tag = try #require(try await gateway.send("GET \(path)")["etag"])
            let same = try await gateway.send("GET \(path)", fields: "If-None-Match: \(tag)\r\n")
            #expect(same.status == 304 && same.body.isEmpty && same["etag"] == tag)
            #expect(same["content-security-policy"] != nil)
            let other = try await gateway.send("GET \(path)", fields: "If-None-Match: \"other\"\r\n")
            #expect(other.status == 200)
        }
    }

    @Test(
        "What is no file of its own is not found",
        arguments: [
            "/console/", "/console/nothing.js", "/console/main.js/more", "/console/MAIN.JS", "/consoles",
            "/console/console.html", "/v1/console", "/Console",
        ])
    func unknown(_ path: String) async throws {
        try await GatewayHarness.withGateway { gateway in
            let answer = try await gateway.send("GET \(path)")
            #expect(answer.status == 404 && answer.code == "NOT_FOUND")
            let climbing = try await gateway.send("GET /console/../openapi.json")
            #expect(climbing.status == 400)
        }
    }

    @Test("It is told where the API is")
    func settings() async throws {
        try await GatewayHarness.withGateway { gateway in
            let answer = try await gateway.send("GET /console/settings.json")
            #expect(answer.status == 200 && answer.body == #"{"basePath":"/v1"}"#)
            #expect(answer["content-type"] == "application/json" && answer["cache-control"] == "no-store")
        }
        let moved = Array("/console/settings.json".utf8).withUnsafeBytes {
            ConsoleFiles.response(to: $0, known: nil, basePath: "/sign-in/v1")
        }
        guard case .text(#"{"basePath":"/sign-in/v1"}"#) = try #require(moved).body else {
            Issue.record("\(String(describing: moved))")
            return
        }
    }

    @Test("Over HTTP/2")
    func http2() async throws {
        try await GatewayHarness.withHTTP2Gateway { _, connect in
            let client = try await connect()
            let answer = try await client.send(HPACKHeaders.request("GET", "/console/main.js"))
            #expect(answer.status == 200 && answer.isComplete && answer.body.hasPrefix("// "))
            #expect(answer.fields.first(name: "content-security-policy") != nil)
            await client.close()
        }
    }

    @Test("Where what waits for slow clients leaves no room for a file, it is refused")
    func short() async throws {
        let options = GatewayHarness.Options { $0.settings.maximumWaitingOutput = 64 * 1024 }
        try await GatewayHarness.withGateway(options) { gateway in
            let answer = try await gateway.send("GET /console")
            #expect(answer.status == 503 && answer.code == "UNAVAILABLE" && answer["retry-after"] != nil)
        }
    }

    @Test("A gateway without it does not have its paths, and a team may")
    func off() throws {
        func paths(_ hasConsole: Bool) -> [String] {
            BuiltInRoutes.routes(
                { Upstream(name: $0.rawValue, addresses: [], isGatehouse: true) }, serviceTimeout: .seconds(1),
                hasConsole: hasConsole
            ).map(\.name)
        }
        #expect(paths(true).filter { $0.hasPrefix("/console") } == ["/console", "/console/{file}"])
        #expect(paths(false).filter { $0.hasPrefix("/console") } == [])
        for path in ["/console", "/console/x", "/Console"] {
            let yaml = "routes:\n  - {name: a, path: \(path), upstreams: 'http://x'}"
            #expect(!RoutesFile(yaml: yaml, environment: [:]).problems.isEmpty, "\(path)")
            #expect(RoutesFile(yaml: yaml, environment: [:], hasConsole: false).problems.isEmpty, "\(path)")
        }
    }

    @Test("It is there unless the setting says otherwise")
    func setting() {
        func table(_ value: String?) -> String {
            var environment = [
                "GATEHOUSE_ENVIRONMENT": "development", "GATEWAY_TOKENS_URL": "http://127.0.0.1:1",
                "GATEWAY_IDENTITY_URL": "http://127.0.0.1:2", "GATEWAY_DEVICES_URL": "http://127.0.0.1:3",
                "GATEWAY_TOKENS_CREDENTIAL": "dev-a", "GATEWAY_IDENTITY_CREDENTIAL": "dev-b",
                "GATEWAY_DEVICES_CREDENTIAL": "dev-c",
            ]
            environment["GATEWAY_CONSOLE"] = value
            return GatewayConfiguration(Settings(service: "gateway", environment: environment)).routeTable
        }
        #expect(table(nil).contains("/console/{file}") && table("true").contains("/console/{file}"))
        #expect(!table("false").contains("/console"))
    }
}
