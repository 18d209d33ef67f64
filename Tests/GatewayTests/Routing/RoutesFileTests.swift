import Foundation
import GatehouseBytes
import GatehouseServiceContracts
import Testing

@testable import GatewayService

@Suite("The routes file")
struct RoutesFileTests {
    private func read(_ yaml: String) -> RoutesFile {
        RoutesFile(yaml: yaml, environment: ["SECRET": "s3cret"], issuers: ["https://partner.test"])
    }

    @Test("All that a route can say")
    func whole() throws {
        let file = read(
            """
            routes:
              - name: orders
                path: /orders/
                methods: [GET, POST]
                upstreams: [http://orders-1:8080, "http://[::1]:81/"]
                authentication: required
                roles: [courier]
                maximumAuthenticationAge: 600
                bodyLimit: 2048
                bufferBodies: false
                timeout: 30
                stripPrefix: true
                forwardAuthorization: true
                claims: [email, jti]
                issuers: https://partner.test
                credential: env:SECRET
                healthCheck: {path: /health, interval: 7, timeout: 3}
                idleTimeout: 9
              - name: menu
                path: /stores/{id}/menu
                exact: true
                upstreams: http://menu
                authentication: none
                rewritePrefix: /v2/menu
                webSocket: true
                outliveToken: true
                rateLimit: {requests: 30, seconds: 60}
                cors: {origins: [https://a.test, "http://b.test:81"], headers: X-One, expose: [ETag], maxAge: 5}
            """)
        #expect(file.problems.isEmpty)
        let orders = try #require(file.routes.first)
        #expect(orders.pattern.description == "/orders/*")
        #expect(orders.methods == [.get, .post] && orders.authentication == .required && orders.roles == ["courier"])
        #expect(orders.maximumAuthenticationAge == 600 && file.routes.last?.maximumAuthenticationAge == nil)
        #expect(orders.bodyLimit == 2048 && orders.timeout == .seconds(30))
        #expect(!orders.buffersBodies && file.routes.last?.buffersBodies == true)
        #expect(orders.prefixReplacement == [] && orders.forwardsAuthorization)
        #expect(orders.claims == [.email, .tokenID] && orders.issuers == ["https://partner.test"])
        guard case .upstream(let upstream) = orders.target else { return #expect(Bool(false)) }
        #expect(upstream.addresses.map(\.authority) == ["orders-1:8080", "[::1]:81"])
        #expect(upstream.credential == "s3cret" && !upstream.isGatehouse)
        #expect(upstream.healthCheck == HealthCheck(path: "/health", interval: .seconds(7), timeout: .seconds(3)))
        #expect(upstream.idleTimeout == .seconds(9))
        #expect(file.routes.last?.authentication == PublicRoute.Bearer.none)
        #expect(file.routes.last?.methods == .all)
        let menu = try #require(file.routes.last)
        #expect(menu.pattern.description == "/stores/{id}/menu")
        #expect(menu.prefixReplacement == Array("/v2/menu".utf8))
        #expect(
            menu.cors
                == CORSPolicy(
                    origins: ["https://a.test", "http://b.test:81"], headers: ["X-One"], exposed: ["ETag"],
                    maximumAge: 5))
        #expect(menu.limit == RateLimit(capacity: 30, perSecond: 0.5) && orders.limit == nil)
        #expect(menu.allowsWebSocket && menu.outlivesToken && !orders.allowsWebSocket && !orders.outlivesToken)
    }

    @Test(
        "A path is rewritten to a plain one, and never to /internal",
        arguments: ["/", "v2", "/a/../b", "/a/", "/a//b", "/{x}", "/a%2fb", "/internal", "/Internal/x", "[]"])
    func rewritePrefix(_ prefix: String) {
        func problems(_ more: String) -> [RoutesFile.Problem] {
            read("routes:\n  - {name: a, path: /a, upstreams: 'http://x', \(more)}").problems
        }
        #expect(problems("rewritePrefix: \(prefix)").count == 1)
        #expect(problems("rewritePrefix: /v2").isEmpty)
        #expect(problems("rewritePrefix: /v2, stripPrefix: true").count == 1)
        #expect(problems("rewritePrefix: /internals").isEmpty)
    }

    @Test("Everything that is wrong is told, with line and route")
    func wrong() {
        let file = read(
            """
            routes:
              - name: a
                path: /v1/auth/mine
                upstreams: [http://x]
              - name: b
                path: /b/../c
                upstreams: [x:80]
                methods: [GET, FETCH]
                timeout: soon
                authentification: none
              - path: /internal
                authentication: reported
                credential: env:NOTHING
              - name: d
                path: /d
                upstreams: [ftp://x]
                authentication: none
                roles: [x]
              - name: e
                path: /e
                upstreams: [https://x, http://y]
              - name: f
                path: /f
                upstreams: http://x
                certificateAuthority: /nothing
              - name: g
                path: /g
                upstreams: https://x
                certificateAuthority: /nothing
              - name: h
                path: /h
                upstreams: [https://x, https://y]
              - name: i
                path: /i
                upstreams: http://x
                authentication: optional
                maximumAuthenticationAge: 600
              - name: j
                path: /j
                upstreams: http://x
                maximumAuthenticationAge: 10m
            """)
        #expect(file.routes.isEmpty)
        #expect(
            file.problems.map(\.description) == [
                "line 3, route a: '/v1/auth/mine' belongs to Gatehouse",
                "line 10, route b: unknown key 'authentification'",
                "line 6, route b: '/b/../c' is not a plain path",
                "line 8, route b: unknown method 'FETCH'",
                "line 7, route b: 'x:80' is not an address like http://orders:8080",
                "line 9, route b: timeout must be a whole number from 1 to 3600",
                "line 11, route 3: has no name",
                "line 11, route 3: '/internal' belongs to Gatehouse",
                "line 11, route 3: has no upstreams",
                "line 12, route 3: authentication must be required, optional or none",
                "line 13, route 3: the environment has no NOTHING",
                "line 16, route d: 'ftp://x' is not an address like http://orders:8080",
                "line 14, route d: roles need authentication: required",
                "line 19, route e: upstreams must all be http, or all https",
                "line 25, route f: certificateAuthority needs upstreams with https",
                "line 29, route g: certificateAuthority must name a file of certificates in PEM",
                "line 30, route h: upstreams with https must all have one host name",
                "line 33, route i: maximumAuthenticationAge needs authentication: required",
                "line 41, route j: maximumAuthenticationAge must be a whole number from 1 to 31536000",
            ])
    }

    @Test("What belongs to Gatehouse does so wherever its API is")
    func reserved() {
        func isTaken(_ path: String, _ basePaths: [String]) -> Bool {
            let yaml = "routes:\n  - {name: a, path: \(path), upstreams: 'http://x'}"
            return !RoutesFile(yaml: yaml, environment: [:], basePaths: basePaths).problems.isEmpty
        }
        for path in ["/v1/auth", "/API/v1/devices/x", "/oauth/x", "/api/internal", "/Sign-In/v1/auth"] {
            #expect(isTaken(path, ["/Sign-in/v1"]), "\(path)")
        }
        #expect(!isTaken("/sign-in/v1/auth", BuiltInRoutes.basePaths) && !isTaken("/sign-in/v1", ["/sign-in/v1"]))
    }

    @Test(
        "A limit has a number of requests and of seconds",
        arguments: [
            "5", "{requests: 5}", "{requests: 0, seconds: 1}", "{requests: 5, seconds: 0}", "{requests: x, seconds: 1}",
            "{requests: 5, seconds: 1, burst: 2}",
        ])
    func rateLimit(_ limit: String) {
        let file = read("routes:\n  - {name: a, path: /a, upstreams: 'http://x', rateLimit: \(limit)}")
        #expect(file.problems.count == 1)
    }

    @Test(
        "A health check has a plain path, and times that make sense",
        arguments: [
            "/health", "{}", "{path: health}", "{path: /a/../b}", "{path: '/{x}'}", "{path: /internal/health}",
            "{path: '/h?x=1'}", "{path: /h, interval: 0}", "{path: /h, interval: 301}", "{path: /h, timeout: 0}",
            "{path: /h, timeout: 61}", "{path: /h, timeout: soon}", "{path: /h, every: 5}",
        ])
    func healthCheck(_ check: String) {
        func problems(_ check: String) -> [RoutesFile.Problem] {
            read("routes:\n  - name: a\n    path: /a\n    upstreams: http://x\n    healthCheck: \(check)").problems
        }
        #expect(problems(check).map(\.line) == [5], "\(problems(check))")
        #expect(problems("{path: /h}").isEmpty)
    }

    @Test(
        "Claims are those that tokens have, each once, and issuers those of their file",
        arguments: [
            "claims: [sub, name]", "claims: [email, email]", "claims: email, authentication: none",
            "issuers: https://other.test",
        ])
    func bearerKeys(_ keys: String) {
        let problems = read("routes:\n  - {name: a, path: /a, upstreams: 'http://x', \(keys)}").problems
        #expect(!problems.isEmpty && problems.allSatisfy { $0.line == 2 })
        #expect(read("routes:\n  - {name: a, path: /a, upstreams: 'http://x', claims: email}").problems.isEmpty)
    }

    @Test(
        "A policy for pages names origins, and fields that there can be",
        arguments: [
            "yes", "{}", "{origins: []}", "{origins: [https://a/]}", "{origins: '*', cookies: true}",
            "{origins: '*', headers: ['a b']}", "{origins: '*', expose: ['']}", "{origins: '*', maxAge: -1}",
        ])
    func cors(_ policy: String) {
        let file = read("routes:\n  - {name: a, path: /a, upstreams: 'http://x', cors: \(policy)}")
        #expect(file.problems.count == 1)
    }

    @Test("Ports that there are not", arguments: ["0", "65536", "99999", "-1", "99999999999999999999", "x"])
    func badPort(_ port: String) {
        #expect(Upstream.Address(url: "http://127.0.0.1:\(port)") == nil)
        #expect(Upstream.Address(url: "http://127.0.0.1:65535")?.port == 65535)
        #expect(Upstream.Address(url: "https://a") == .init(host: "a", port: 443, isSecure: true))
    }

    @Test("Where a file is not YAML, and never what stands there")
    func notYAML() throws {
        for text in ["routes:\n  - credential: 'secret", "routes:\n  - credential: {secret", "routes:\n\t- secret: x"] {
            let problem = try #require(read(text).problems.first)
            #expect(problem.description.contains("is not YAML: "), "\(problem)")
            #expect(problem.line != nil && !problem.description.contains("secret"), "\(problem)")
        }
        let twice = try #require(read("routes: []\nroutes: []").problems.first)
        #expect(twice.description.contains("routes"), "\(twice)")
    }

    @Test("Names and paths that are used twice, and addresses with a password")
    func twice() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).yaml").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try """
        routes:
          - name: a
            path: /a
            upstreams: [http://x]
          - name: a
            path: /b
            upstreams: [http://x]
          - name: c
            path: /a
            upstreams: [http://x]
          - name: d
            path: /d
            upstreams: [http://user:secret@x]
        """.write(toFile: path, atomically: true, encoding: .utf8)
        let source = RoutesSource(builtIn: [], path: path)
        let failure = #expect(throws: RoutesSource.Failure.self) { try source.read() }
        #expect(
            failure?.problems.map(\.description) == [
                "line 5, route a: the name is used in line 2 already",
                "line 13, route d: 'x' is not an address like http://orders:8080",
                "line 8, route c: another route has the same path /a/*",
            ])
    }

    @Test("A file that is made for development, or that is not there")
    func unfit() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).yaml").path
        #expect(throws: RoutesSource.Failure.self) { try RoutesSource(builtIn: [], path: path).read() }
        defer { try? FileManager.default.removeItem(atPath: path) }
        try "# development\nroutes: []".write(toFile: path, atomically: true, encoding: .utf8)
        #expect(throws: RoutesSource.Failure.self) { try RoutesSource(builtIn: [], path: path).read() }
        let table = try RoutesSource(builtIn: [], path: path, allowsDevelopment: true).read()
        #expect(table.routes.isEmpty)
    }

    @Test("What is no list of routes", arguments: ["", "routes: 5", "- a", "routes: [", "other: []"])
    func noList(_ yaml: String) { #expect(!read(yaml).problems.isEmpty) }
}
