import Bytes
import Contracts

/// What happens to the requests of one path and some methods.
final class Route: Sendable {
    /// What a route asks of `Authorization`.
    enum Authentication: String, Sendable, CaseIterable {
        /// Ignored altogether.
        case none
        /// A bad bearer is refused, a missing one is not.
        case optional
        /// A bad bearer is told to the upstream, which decides.
        case reported
        case required
    }

    enum Target: Sendable {
        case upstream(Upstream)
        /// The gateway itself: is the process there?
        case liveness
        /// The gateway itself: would it serve a request with a bearer?
        case readiness
        /// The gateway itself: what is written about the public routes.
        case document(PublicDocument)
        /// The gateway itself: the operators' console, which finds the API at `basePath`.
        case console(basePath: String)

        /// Whether it is built into the gateway.
        var isDocument: Bool {
            switch self {
            case .document, .console: true
            case .upstream, .liveness, .readiness: false
            }
        }
    }

    /// In metrics, logs and messages: the path's template, or the name that the routes file gives.
    let name: String
    let pattern: PathPattern
    let methods: MethodSet
    let authentication: Authentication
    /// The user needs one of these; empty: no role is needed.
    let roles: Set<VerbatimString>
    /// Seconds since the user last proved who they are, at most; `nil`: it does not matter.
    let maximumAuthenticationAge: Int?
    let target: Target
    /// Bytes; a larger body is refused.
    let bodyLimit: Int
    /// Whether the beginning of a body is waited for before a connection to the upstream is taken.
    let buffersBodies: Bool
    /// Until the head of the upstream's response is there.
    let timeout: Duration
    /// Stands in place of the pattern's segments in the forwarded path; may be empty. `nil`: the segments stay.
    let prefixReplacement: [UInt8]?
    /// Bytes of the path that `prefixReplacement` replaces; `nil`: those of the pattern.
    let replacedLength: Int?
    let forwardsAuthorization: Bool
    /// Claims of the bearer that are forwarded besides its user.
    let claims: [ForwardedClaim]
    /// Issuers besides Gatehouse whose tokens are accepted.
    let issuers: Set<VerbatimString>
    /// Whether requests may go on as WebSocket.
    let allowsWebSocket: Bool
    /// Whether event streams and WebSockets go on when the token that opened them expires or is revoked.
    let outlivesToken: Bool
    /// `nil`: CORS is left to the upstream.
    let cors: CORSPolicy?
    /// `nil`: the route has no limit of its own.
    let limit: RateLimit?
    /// Whether passwords could be guessed here. A stricter limit for each address holds.
    let isSignIn: Bool
    /// Whether a password is hashed here, which is the dearest thing that a stranger can ask for. Only so many of these
    /// are forwarded at once.
    let hashesPasswords: Bool
    /// Whether an address with many refusals by the service is refused by the gateway for a while.
    let limitsFailures: Bool
    /// How the gateway's own refusals look.
    let errorForm: ErrorForm

    init(
        name: String, pattern: PathPattern, methods: MethodSet, authentication: Authentication,
        roles: Set<VerbatimString> = [], maximumAuthenticationAge: Int? = nil,
        target: Target, bodyLimit: Int, buffersBodies: Bool = true, timeout: Duration, stripsPrefix: Bool = false,
        rewrittenPrefix: String? = nil, replacedLength: Int? = nil, forwardsAuthorization: Bool = false,
        claims: [ForwardedClaim] = [], issuers: Set<VerbatimString> = [], allowsWebSocket: Bool = false,
        outlivesToken: Bool = false, limit: RateLimit? = nil, cors: CORSPolicy? = nil, isSignIn: Bool = false,
        hashesPasswords: Bool = false, limitsFailures: Bool = false, errorForm: ErrorForm = .problem
    ) {
        self.name = name
        self.pattern = pattern
        self.methods = methods
        self.authentication = authentication
        self.roles = roles
        self.maximumAuthenticationAge = maximumAuthenticationAge
        self.target = target
        self.bodyLimit = bodyLimit
        self.buffersBodies = buffersBodies
        self.timeout = timeout
        prefixReplacement = rewrittenPrefix.map { Array($0.utf8) } ?? (stripsPrefix ? [] : nil)
        self.replacedLength = replacedLength
        self.forwardsAuthorization = forwardsAuthorization
        self.claims = claims
        self.issuers = issuers
        self.allowsWebSocket = allowsWebSocket
        self.outlivesToken = outlivesToken
        self.limit = limit
        self.cors = cors
        self.isSignIn = isSignIn
        self.hashesPasswords = hashesPasswords
        self.limitsFailures = limitsFailures
        self.errorForm = errorForm
    }
}
