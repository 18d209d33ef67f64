import Contracts
import ServiceKit

/// Gatehouse's own routes, as every gateway has them.
enum BuiltInRoutes {
    /// Bytes of the largest body on Gatehouse's own routes.
    static let bodyLimit = 64 * 1024
    /// How much longer than a service is patient its answer is waited for.
    private static let leeway = Duration.milliseconds(3500)

    /// Where guessing could find a way in: a stricter limit per address holds.
    private static let signIn: Set<String> = [
        "/v1/auth/apple", "/v1/auth/register", "/v1/auth/login", "/v1/auth/password/forgot",
        "/v1/auth/password/reset",
    ]

    /// Whose refusals are counted: honest apps are seldom refused, however many stand behind one address.
    private static let refresh: Set<String> = ["/v1/auth/refresh", "/oauth/token"]

    /// First segments below which a routes file may name nothing.
    static let reserved = ["/v1/auth", "/v1/devices", "/oauth", "/.well-known", "/livez", "/readyz", "/internal"]

    /// - Parameters:
    ///   - upstreams: one for each owner.
    ///   - patience: how long services wait for what they need themselves.
    static func routes(
        _ upstreams: [PublicRoute.Owner: Upstream], patience: Duration = Deadline.defaultPatience
    ) -> [Route] {
        let timeout = patience + leeway
        let health: [(String, Route.Target)] = [("/livez", .liveness), ("/readyz", .readiness)]
        return PublicRoute.all.flatMap { route in
            spellings(of: route.path).map { path in
                Route(
                    name: route.path, pattern: PathPattern(path)!, methods: MethodSet(route.method)!,
                    authentication: Route.Authentication(rawValue: route.bearer.rawValue)!,
                    target: .upstream(upstreams[route.owner]!), bodyLimit: bodyLimit, timeout: timeout,
                    isSignIn: signIn.contains(route.path), limitsFailures: refresh.contains(route.path),
                    errorForm: route.errorForm)
            }
        }
            + health.map { path, target in
                Route(
                    name: path, pattern: PathPattern(path)!, methods: [.get, .head], authentication: .none,
                    target: target, bodyLimit: bodyLimit, timeout: timeout)
            }
    }

    private static func spellings(of path: String) -> [String] {
        guard path.hasPrefix(PublicRoute.basePath + "/") else { return [path] }
        return [path, PublicRoute.alternativeBasePath + path.dropFirst(PublicRoute.basePath.count)]
    }
}
