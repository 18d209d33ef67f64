import Bytes
import Contracts

/// Gatehouse's own routes, as every gateway has them.
enum BuiltInRoutes {
    /// Bytes of the largest body on Gatehouse's own routes.
    static let bodyLimit = 64 * 1024
    /// How much longer than the service's own patience the gateway waits for its response.
    private static let leeway = Duration.milliseconds(3500)

    static let defaultOperatorRole = "operator"

    /// Where passwords and codes could be guessed. A stricter limit for each address holds.
    private static let signIn: Set<String> = [
        "/v1/auth/apple", "/v1/auth/register", "/v1/auth/login", "/v1/auth/password/forgot",
        "/v1/auth/password/reset", "/v1/auth/code", "/v1/auth/code/verify",
    ]

    /// Where each request has a password hashed. Where a password is optional, identity refuses the requests that have
    /// one while all places are taken, so that Apple and codes work in a flood.
    private static let hashing: Set<String> = [
        "/v1/auth/register", "/v1/auth/login", "/v1/auth/password", "/v1/auth/password/reset",
    ]

    /// Where refusals are counted for each address: honest apps are seldom refused, however many share an address.
    private static let refresh: Set<String> = ["/v1/auth/refresh", "/oauth/token"]

    /// Where Gatehouse's own API is unless it is moved.
    static let basePaths = [PublicRoute.basePath, PublicRoute.alternativeBasePath]

    /// Where the operators' console is.
    static let consolePath = "/console"

    /// Paths that a routes file may not use, nor any below them.
    ///
    /// - Parameters:
    ///   - basePaths: where Gatehouse's own API is.
    ///   - hasConsole: whether there is a console.
    static func reserved(_ basePaths: [String], hasConsole: Bool = true) -> [String] {
        (Self.basePaths + basePaths).flatMap { [$0 + "/auth", $0 + "/devices", $0 + "/admin"] }
            + ["", "/api"].flatMap { base in
                ["/oauth", "/.well-known", "/livez", "/readyz", "/internal"].map { base + $0 }
            } + PublicDocument.allCases.map(\.path) + (hasConsole ? [consolePath] : [])
    }

    /// - Parameters:
    ///   - upstream: where an owner's requests go.
    ///   - basePaths: where the API is; services see it where it usually is.
    ///   - patience: how long services wait for what they need themselves.
    ///   - operatorRole: of the users who may administer others.
    ///   - hasConsole: whether there is a console.
    static func routes(
        _ upstream: (PublicRoute.Owner) -> Upstream, basePaths: [String] = basePaths, patience: Duration,
        operatorRole: String = defaultOperatorRole, hasConsole: Bool = true
    ) -> [Route] {
        let timeout = patience + leeway
        let own: [(String, Route.Target)] =
            [("/livez", .liveness), ("/readyz", .readiness)]
            + PublicDocument.allCases.map { ($0.path, .document($0)) }
            + (hasConsole ? consolePaths : []).map { ($0, .console(basePath: basePaths[0])) }
        return PublicRoute.all.flatMap { route in
            spellings(of: route.path, basePaths).map { path, movedTo in
                // The gateway knows every path, method and bearer of `PublicRoute.all`: a test reads them all.
                Route(
                    name: route.path, pattern: PathPattern(path)!, methods: MethodSet(route.method)!,
                    authentication: Route.Authentication(rawValue: route.bearer.rawValue)!,
                    // identity asks again, and looks the role up: a token may be older than the role's loss.
                    roles: route.isForOperators ? [VerbatimString(operatorRole)] : [],
                    target: .upstream(upstream(route.owner)), bodyLimit: bodyLimit, timeout: timeout,
                    rewrittenPrefix: movedTo.map { _ in PublicRoute.basePath }, replacedLength: movedTo?.utf8.count,
                    isSignIn: signIn.contains(route.path), hashesPasswords: hashing.contains(route.path),
                    limitsFailures: refresh.contains(route.path), errorForm: route.errorForm)
            }
        }
            + own.map { path, target in
                Route(
                    name: path, pattern: PathPattern(path)!, methods: [.get, .head], authentication: .none,
                    target: target, bodyLimit: bodyLimit, timeout: timeout)
            }
    }

    /// The page, and what it loads.
    private static let consolePaths = [consolePath, consolePath + "/{file}"]

    /// Where a path of the API is found, with the base path that stands where services do not know it.
    private static func spellings(of path: String, _ basePaths: [String]) -> [(path: String, movedTo: String?)] {
        guard path.hasPrefix(PublicRoute.basePath + "/") else { return [(path, nil)] }
        return basePaths.map { base in
            (base + path.dropFirst(PublicRoute.basePath.count), Self.basePaths.contains(base) ? nil : base)
        }
    }
}
