/// One of Gatehouse's own routes, which clients reach through the gateway.
///
/// The gateway builds its table from these. Each service serves its routes under the same paths.
public struct PublicRoute: Sendable, Equatable {
    /// The service that serves the route.
    public enum Owner: String, Sendable, CaseIterable {
        case identity
        case tokens
        case devices
    }

    /// The route's use of `Authorization`.
    public enum Bearer: String, Sendable, CaseIterable {
        /// Ignored, because apps attach expired bearer tokens to sign-in and refresh.
        case none
        /// An invalid token is refused, a missing one is not.
        case optional
        /// As `optional`, but the service refuses: the gateway forwards the error in `HeaderName.bearerError`.
        /// Logout with a refresh token and signing in with a code succeed regardless of `Authorization`.
        case reported
        case required
    }

    /// Limits in addition to the rate of all requests.
    public struct Guards: OptionSet, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// An attacker could guess passwords or codes: a stricter limit for each address.
        public static let guesses = Guards(rawValue: 1)
        /// The service hashes a password: at most as many requests as it has room for.
        public static let hashes = Guards(rawValue: 2)
        /// The service hashes a password if the body has a member `password`.
        public static let mayHash = Guards(rawValue: 4)
        /// The service's 4xx responses, and bodies that are too slow, are counted for each address. Well-behaved apps
        /// seldom cause them, however many share an address.
        public static let rejections = Guards(rawValue: 8)
    }

    public var method: String
    /// A path template below the origin; `{name}` stands for one segment.
    public var path: String
    public var owner: Owner
    public var bearer: Bearer
    public var guards: Guards
    public var errorForm: ErrorForm

    init(
        _ method: String, _ path: String, _ owner: Owner, _ bearer: Bearer, guards: Guards = [],
        errors errorForm: ErrorForm = .problem
    ) {
        self.method = method
        self.path = path
        self.owner = owner
        self.bearer = bearer
        self.guards = guards
        self.errorForm = errorForm
    }

    /// Whether the route is only for users with a role that the team has configured for it.
    public var isForOperators: Bool { path.utf8.starts(with: (Self.basePath + "/admin/").utf8) }

    /// Whether the route is the operators' console, which a setting of the gateway removes.
    public var isConsole: Bool { path.utf8.starts(with: Self.consolePath.utf8) }

    /// The path of the operators' console.
    public static let consolePath = "/console"
    /// Base path of the public contract.
    public static let basePath = "/v1"
    /// A second base path for the same routes.
    public static let alternativeBasePath = "/api/v1"

    /// All public routes. A route under `basePath` is not repeated under `alternativeBasePath`.
    public static let all: [PublicRoute] = [
        PublicRoute("POST", "/v1/auth/apple", .identity, .none, guards: .guesses),
        PublicRoute("POST", "/v1/auth/apple/nonce", .identity, .none),
        PublicRoute("POST", "/v1/auth/apple/notifications", .identity, .none),
        PublicRoute("POST", "/v1/auth/register", .identity, .none, guards: [.guesses, .hashes]),
        PublicRoute("POST", "/v1/auth/login", .identity, .none, guards: [.guesses, .hashes]),
        PublicRoute("POST", "/v1/auth/code", .identity, .none, guards: .guesses),
        PublicRoute("POST", "/v1/auth/code/verify", .identity, .reported, guards: .guesses),
        PublicRoute("GET", "/v1/auth/me", .identity, .required),
        PublicRoute("PATCH", "/v1/auth/me", .identity, .required),
        PublicRoute("DELETE", "/v1/auth/account", .identity, .required),
        PublicRoute("GET", "/v1/auth/export", .identity, .required),
        PublicRoute("POST", "/v1/auth/password", .identity, .required, guards: .hashes),
        PublicRoute("POST", "/v1/auth/password/forgot", .identity, .none, guards: .guesses),
        PublicRoute("POST", "/v1/auth/password/reset", .identity, .none, guards: [.guesses, .hashes]),
        PublicRoute("POST", "/v1/auth/reauthenticate", .identity, .required, guards: .mayHash),
        PublicRoute("POST", "/v1/auth/identities/apple", .identity, .required),
        PublicRoute("DELETE", "/v1/auth/identities/{provider}", .identity, .required),
        PublicRoute("PUT", "/v1/auth/identifiers/{kind}", .identity, .required),
        PublicRoute("DELETE", "/v1/auth/identifiers/{kind}", .identity, .required),
        PublicRoute("POST", "/v1/auth/identifiers/undo", .identity, .none),
        PublicRoute("POST", "/v1/auth/merge", .identity, .required, guards: .mayHash),
        PublicRoute("POST", "/v1/auth/refresh", .tokens, .none, guards: .rejections),
        PublicRoute("POST", "/v1/auth/logout", .tokens, .reported),
        PublicRoute("POST", "/v1/auth/logout-all", .tokens, .required),
        PublicRoute("GET", "/v1/auth/sessions", .tokens, .required),
        PublicRoute("DELETE", "/v1/auth/sessions/{id}", .tokens, .required),
        PublicRoute("POST", "/oauth/token", .tokens, .none, guards: .rejections, errors: .oauth),
        PublicRoute("POST", "/oauth/revoke", .tokens, .none, errors: .oauth),
        PublicRoute("GET", "/.well-known/jwks.json", .tokens, .none),
        PublicRoute("HEAD", "/.well-known/jwks.json", .tokens, .none),
        PublicRoute("GET", "/.well-known/oauth-authorization-server", .tokens, .none),
        PublicRoute("HEAD", "/.well-known/oauth-authorization-server", .tokens, .none),
        PublicRoute("POST", "/v1/devices/register", .devices, .required),
        PublicRoute("GET", "/v1/devices", .devices, .required),
        PublicRoute("DELETE", "/v1/devices/{id}", .devices, .required),
        PublicRoute("GET", "/v1/admin/users", .identity, .required),
        PublicRoute("POST", "/v1/admin/users", .identity, .required, guards: .mayHash),
        PublicRoute("GET", "/v1/admin/users/{id}", .identity, .required),
        PublicRoute("PATCH", "/v1/admin/users/{id}", .identity, .required),
        PublicRoute("DELETE", "/v1/admin/users/{id}", .identity, .required),
        PublicRoute("POST", "/v1/admin/users/{id}/disable", .identity, .required),
        PublicRoute("POST", "/v1/admin/users/{id}/enable", .identity, .required),
        PublicRoute("PUT", "/v1/admin/users/{id}/identifiers/{kind}", .identity, .required),
        PublicRoute("DELETE", "/v1/admin/users/{id}/identifiers/{kind}", .identity, .required),
        PublicRoute("POST", "/v1/admin/users/{id}/identifiers/{kind}/move", .identity, .required),
        PublicRoute("GET", "/v1/admin/users/{id}/sessions", .identity, .required),
        PublicRoute("DELETE", "/v1/admin/users/{id}/sessions", .identity, .required),
        PublicRoute("DELETE", "/v1/admin/users/{id}/sessions/{session}", .identity, .required),
        PublicRoute("GET", "/v1/admin/users/{id}/devices", .identity, .required),
        PublicRoute("GET", "/v1/admin/users/{id}/undelivered-pushes", .identity, .required),
        PublicRoute("POST", "/v1/admin/test-pushes", .identity, .required),
        PublicRoute("GET", "/v1/admin/test-pushes/{id}", .identity, .required),
        PublicRoute("GET", "/v1/admin/audit", .identity, .required),
        PublicRoute("GET", "/v1/admin/figures", .identity, .required),
        PublicRoute("GET", "/console", .identity, .none),
        PublicRoute("HEAD", "/console", .identity, .none),
        PublicRoute("GET", "/console/{file}", .identity, .none),
        PublicRoute("HEAD", "/console/{file}", .identity, .none),
    ]
}

/// The limit on bodies of Gatehouse's own routes.
public enum BodyLimit {
    /// 64 KiB.
    public static let bytes = 65_536
}
