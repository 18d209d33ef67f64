import GatehouseBytes
import GatehouseServiceContracts
import Testing

@testable import GatewayService

@Suite("Route table")
struct RouteTableTests {
    private static let upstream = Upstream(
        name: "u", addresses: [.init(host: "127.0.0.1", port: 1)], credential: nil, isGatehouse: false)

    private func route(
        _ path: String, _ methods: MethodSet = [.get], isPrefix: Bool = false, strips: Bool = false,
        rewritten: String? = nil
    ) -> Route {
        Route(
            name: path, pattern: PathPattern(path, isPrefix: isPrefix)!, methods: methods, authentication: .none,
            target: .upstream(Self.upstream), bodyLimit: 0, timeout: .seconds(1), stripsPrefix: strips,
            rewrittenPrefix: rewritten)
    }

    /// The route's name and the path that goes on, `405 <methods>`, or `404`.
    private func match(_ table: RouteTable, _ path: String, _ method: RequestMethod? = .get) -> String {
        Array(path.utf8).withUnsafeBytes { bytes in
            switch table.match(path: bytes, method: method) {
            case .route(let route, let range):
                "\(route.name) \(String(decoding: bytes[range], as: UTF8.self))"
            case .methodNotAllowed(let allow): "405 \(allow)"
            case .notFound: "404"
            }
        }
    }

    @Test("Whole paths before parameters, paths before prefixes, long prefixes before short ones")
    func precedence() throws {
        let table = try RouteTable([
            route("/a", [.get]), route("/a/{x}", [.get]), route("/a/b", [.post]), route("/a/{x}/c", [.get]),
            route("/p", isPrefix: true), route("/p/q", isPrefix: true), route("/s", isPrefix: true, strips: true),
        ])
        #expect(match(table, "/a") == "/a /a")
        #expect(match(table, "/a/1") == "/a/{x} /a/1")
        #expect(match(table, "/a/b", .post) == "/a/b /a/b")
        #expect(match(table, "/a/b") == "/a/{x} /a/b")
        #expect(match(table, "/a/b", .put) == "405 GET, POST")
        #expect(match(table, "/a/b/c") == "/a/{x}/c /a/b/c")
        #expect(match(table, "/a/") == "404")
        #expect(match(table, "/a/b/d") == "404")
        #expect(match(table, "/") == "404")
        #expect(match(table, "/p") == "/p /p")
        #expect(match(table, "/p/") == "/p /p/")
        #expect(match(table, "/px") == "404")
        #expect(match(table, "/p/x/y") == "/p /p/x/y")
        #expect(match(table, "/p/q/y") == "/p/q /p/q/y")
        #expect(match(table, "/p/qq") == "/p /p/qq")
        #expect(match(table, "/s") == "/s ")
        #expect(match(table, "/s/x") == "/s /x")
        #expect(match(table, "/s/x", .delete) == "405 GET")
        #expect(match(table, "/s/x", nil) == "405 GET")
    }

    @Test("A prefix of / catches the rest, but nothing reaches /internal")
    func root() throws {
        let table = try RouteTable([
            route("/", isPrefix: true), route("/s", isPrefix: true, strips: true), route("/x/internal"),
        ])
        #expect(match(table, "/") == "/ /")
        #expect(match(table, "/any/thing") == "/ /any/thing")
        for path in ["/internal", "/internal/", "/internal/x", "/Internal/x", "/s/internal", "/s/INTERNAL/x"] {
            #expect(match(table, path) == "404", "\(path)")
        }
        let rewriting = try RouteTable([
            route("/", isPrefix: true, rewritten: "/v2"), route("/r", isPrefix: true, rewritten: "/v2/s"),
        ])
        #expect(match(rewriting, "/internal/x") == "/ /internal/x", "which is /v2/internal/x to the service")
        #expect(match(rewriting, "/r") == "/r ")
        #expect(match(rewriting, "/r/internal") == "/r /internal")
        #expect(match(table, "/internals") == "/ /internals")
        #expect(match(table, "/x/internal") == "/x/internal /x/internal")
    }

    @Test("Two routes can't want the same")
    func conflict() {
        #expect(throws: RouteTable.Conflict(route: "/a/{y}", pattern: "/a/{y}")) {
            try RouteTable([route("/a/{x}"), route("/a/{y}")])
        }
        #expect(throws: Never.self) { try RouteTable([route("/a", [.get]), route("/a", [.post])]) }
    }

    @Test("Every public route is there, under both base paths, and says what else its path allows")
    func builtIn() throws {
        let table = try RouteTable(BuiltInRoutes.routes({ _ in Self.upstream }, serviceTimeout: .seconds(1)))
        for route in PublicRoute.all {
            let path = route.path.replacing("{id}", with: "1").replacing("{provider}", with: "apple")
                .replacing("{kind}", with: "phone")
            #expect(match(table, path, RequestMethod(route.method)!) == "\(route.path) \(path)")
            if path.hasPrefix("/v1/") {
                #expect(match(table, "/api" + path, RequestMethod(route.method)!) == "\(route.path) /api\(path)")
            }
        }
        #expect(match(table, "/v1/auth/me", .put) == "405 GET, PATCH")
        #expect(match(table, "/v1/auth/login") == "405 POST")
        #expect(match(table, "/v1/auth/identifiers/undo", nil) == "405 POST")
        #expect(match(table, "/v1/auth/identifiers/email", nil) == "405 PUT, DELETE")
        #expect(match(table, "/v1/auth/identifiers/other", .put) == "404")
        #expect(match(table, "/docs") == "/docs /docs" && match(table, "/openapi.json", .post) == "405 GET, HEAD")
        #expect(match(table, "/console/settings.json") == "/console/settings.json /console/settings.json")
        #expect(match(table, "/internal/revocations") == "404")
        #expect(match(table, "/v1/internal/revocations") == "404")
    }

    @Test("What administers users opens with the operators' role alone, and nothing else asks for one")
    func operators() {
        for role in ["operator", "support"] {
            let routes = BuiltInRoutes.routes({ _ in Self.upstream }, serviceTimeout: .seconds(1), operatorRole: role)
            for route in routes {
                let isAdministration = route.name.hasPrefix("/v1/admin/")
                #expect(route.roles == (isAdministration ? [VerbatimString(role)] : []), "\(route.name)")
                #expect(!isAdministration || route.authentication == .required)
            }
        }
        let usual = BuiltInRoutes.routes({ _ in Self.upstream }, serviceTimeout: .seconds(1))
        #expect(usual.contains { $0.roles == ["operator"] })
        #expect(BuiltInRoutes.reserved(["/sign-in/v1"]).contains("/sign-in/v1/admin"))
    }

    @Test("Gatehouse's own routes can be elsewhere, and services see them where they were")
    func moved() throws {
        let table = try RouteTable(
            BuiltInRoutes.routes(
                { _ in Self.upstream }, basePaths: ["/sign-in/v1", "/api/v1"], serviceTimeout: .seconds(1)))
        for (path, forwarded) in [
            ("/sign-in/v1/auth/me", "/v1/auth/me"), ("/sign-in/v1/auth/sessions", "/v1/auth/sessions"),
            ("/api/v1/auth/me", "/api/v1/auth/me"), ("/.well-known/jwks.json", "/.well-known/jwks.json"),
        ] {
            let seen: String? = Array(path.utf8).withUnsafeBytes { bytes in
                guard case .route(let route, let range) = table.match(path: bytes, method: .get) else { return nil }
                return String(decoding: (route.prefixReplacement ?? []) + bytes[range], as: UTF8.self)
            }
            #expect(seen == forwarded)
        }
        #expect(match(table, "/v1/auth/me") == "404")
        let exact = try RouteTable([route("/a/b", strips: true), route("/a/c", rewritten: "/v2")])
        #expect(match(exact, "/a/b") == "/a/b " && match(exact, "/a/c") == "/a/c ", "the whole path is replaced")
    }

    @Test(
        "Templates that are no canonical path are refused",
        arguments: ["a", "", "/a//b", "/a/../b", "/a;b", "/{a", "/a{b}", "/%20"])
    func templates(_ template: String) { #expect(PathPattern(template) == nil) }
}
