// Pure: no I/O, no clock.

import GatehouseBytes
import GatehouseServiceContracts

/// How requests for one path and some methods are handled.
final class Route: Sendable {
    enum Target: Sendable {
        case upstream(Upstream)
        /// The gateway's own response: the process is running.
        case liveness
        /// The gateway's own response: whether it would serve a request with a bearer.
        case readiness
        /// The gateway's own response: documentation of the public routes.
        case document(PublicDocument)
        /// The gateway's own response: the base path at which the operators' console finds the API.
        case consoleSettings(basePath: String)

        /// Whether the response is built into the gateway.
        var isDocument: Bool {
            switch self {
            case .document, .consoleSettings: true
            case .upstream, .liveness, .readiness: false
            }
        }
    }

    /// Whether requests have a password hashed.
    enum Passwords: Sendable {
        case never
        /// Only requests whose body has a member `password`.
        case optional
        case always
    }

    /// For metrics, logs and messages: the path's template, or the name from the routes file.
    let name: String
    let pattern: PathPattern
    let methods: MethodSet
    let authentication: PublicRoute.Bearer
    /// The user needs one of these roles; empty: no role is needed.
    let roles: Set<VerbatimString>
    /// The maximum age in seconds of the user's authentication; `nil`: any age.
    let maximumAuthenticationAge: Int?
    let target: Target
    /// Bytes; a larger body is refused.
    let bodyLimit: Int
    /// Whether to wait for the beginning of a body before a connection to the upstream is taken.
    let buffersBodies: Bool
    /// Until the head of the upstream's response has arrived.
    let timeout: Duration
    /// Replaces the pattern's segments in the forwarded path; may be empty. `nil`: the segments stay.
    let prefixReplacement: [UInt8]?
    /// Bytes of the path that `prefixReplacement` replaces; `nil`: those of the pattern.
    let replacedLength: Int?
    let forwardsAuthorization: Bool
    /// Claims of the bearer that are forwarded besides its user.
    let claims: [ForwardedClaim]
    /// Issuers besides Gatehouse whose tokens are accepted.
    let issuers: Set<VerbatimString>
    /// Whether requests may upgrade to WebSocket.
    let allowsWebSocket: Bool
    /// Whether event streams and WebSockets continue when the token that opened them expires or is revoked.
    let outlivesToken: Bool
    /// `nil`: CORS is left to the upstream.
    let cors: CORSPolicy?
    /// `nil`: the route has no limit of its own.
    let limit: RateLimit?
    /// Whether an attacker could guess passwords or codes here, so that a stricter limit for each address applies.
    let isSignIn: Bool
    /// Whether the service hashes a password here. Such a request is the most expensive one without authentication, so
    /// only a limited number is forwarded concurrently.
    let passwords: Passwords
    /// Whether 4xx responses and slow bodies are counted for each address. Beyond the limit, a network's requests take
    /// turns in a queue.
    let limitsRejections: Bool
    /// Whether requests pass a queue when their body is complete.
    var hasQueue: Bool { passwords != .never || limitsRejections }
    /// The format of the gateway's own refusals.
    let errorForm: ErrorForm
    /// The name under which replicas share the route's limit in Redis. It never changes, so that replicas of two
    /// versions share it too.
    var sharedLimitName: String { "MethodSet(rawValue: \(methods.rawValue)) \(pattern)" }

    init(
        name: String, pattern: PathPattern, methods: MethodSet, authentication: PublicRoute.Bearer,
        roles: Set<VerbatimString> = [], maximumAuthenticationAge: Int? = nil,
        target: Target, bodyLimit: Int, buffersBodies: Bool = true, timeout: Duration, stripsPrefix: Bool = false,
        rewrittenPrefix: String? = nil, replacedLength: Int? = nil, forwardsAuthorization: Bool = false,
        claims: [ForwardedClaim] = [], issuers: Set<VerbatimString> = [], allowsWebSocket: Bool = false,
        outlivesToken: Bool = false, limit: RateLimit? = nil, cors: CORSPolicy? = nil, isSignIn: Bool = false,
        passwords: Passwords = .never, limitsRejections: Bool = false, errorForm: ErrorForm = .problem
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
        self.passwords = passwords
        self.limitsRejections = limitsRejections
        self.errorForm = errorForm
    }
}

/// A method that a route can name (RFC 9110 §9). CONNECT and TRACE are missing: the gateway never forwards them.
enum RequestMethod: UInt8, Sendable {
    case get, head, post, put, patch, delete, options

    fileprivate static let names: [(RequestMethod, StaticString)] = [
        (.get, "GET"), (.head, "HEAD"), (.post, "POST"), (.put, "PUT"), (.patch, "PATCH"), (.delete, "DELETE"),
        (.options, "OPTIONS"),
    ]

    /// The method of that name, case-sensitive; `nil` for a name that no route can have.
    init?(name: UnsafeRawBufferPointer) {
        let known = Self.names.first { _, known in
            known.utf8CodeUnitCount == name.count
                && name.elementsEqual(UnsafeRawBufferPointer(start: known.utf8Start, count: name.count))
        }
        guard let known else { return nil }
        self = known.0
    }

    /// The method of that name; `nil` for a name that no route can have.
    init?(_ name: String) {
        guard let known = Self.names.first(where: { "\($0.1)" == name }) else { return nil }
        self = known.0
    }

    var description: String { MethodSet([self]).description }
}

struct MethodSet: Sendable, Hashable, ExpressibleByArrayLiteral {
    /// One bit for each method. ``Route/sharedLimitName`` contains it, so the bits never change.
    private(set) var rawValue: UInt8 = 0

    static let all: MethodSet = [.get, .head, .post, .put, .patch, .delete, .options]
    /// Methods that only read (RFC 9110 §9.2.1).
    static let safe: MethodSet = [.get, .head, .options]
    /// Methods that may be repeated without further effect (RFC 9110 §9.2.2).
    static let idempotent: MethodSet = [.get, .head, .put, .delete, .options]

    init(_ methods: [RequestMethod]) { for method in methods { insert(method) } }

    init(arrayLiteral methods: RequestMethod...) { self.init(methods) }

    var isEmpty: Bool { rawValue == 0 }

    func contains(_ method: RequestMethod) -> Bool { rawValue & Self.bit(of: method) != 0 }

    func isDisjoint(with other: MethodSet) -> Bool { rawValue & other.rawValue == 0 }

    mutating func insert(_ method: RequestMethod) { rawValue |= Self.bit(of: method) }

    mutating func formUnion(_ other: MethodSet) { rawValue |= other.rawValue }

    private static func bit(of method: RequestMethod) -> UInt8 { 1 << method.rawValue }

    /// Its methods, one by one.
    var each: [RequestMethod] { RequestMethod.names.map(\.0).filter(contains) }

    /// As in an `Allow` field.
    var description: String {
        RequestMethod.names.filter { contains($0.0) }.map { "\($0.1)" }.joined(separator: ", ")
    }
}

/// The pattern of a route's paths: segments, some of them parameters, and whether more may follow.
struct PathPattern: Sendable, Hashable, CustomStringConvertible {
    enum Segment: Sendable, Hashable {
        case literal(String)
        /// Any one segment; the name is only for readers.
        case parameter(String)
    }

    var segments: [Segment]
    /// Whether the pattern also covers everything below it.
    var isPrefix: Bool

    /// Reads `/v1/things/{id}`. `nil` where the path is not canonical.
    init?(_ template: String, isPrefix: Bool = false) {
        var template = template
        let filler = template.replacing("{", with: "").replacing("}", with: "")
        guard template.hasPrefix("/"), template.utf8.allSatisfy({ $0 < 128 && $0 != UInt8(ascii: "%") }),
            Array(filler.utf8).withUnsafeBytes(CanonicalPath.isCanonical)
        else { return nil }
        if isPrefix, template.hasSuffix("/") { template.removeLast() }
        segments =
            template.isEmpty
            ? []
            : template.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
                .map {
                    $0.hasPrefix("{") && $0.hasSuffix("}")
                        ? .parameter(String($0.dropFirst().dropLast())) : .literal(String($0))
                }
        for case .literal(let text) in segments where text.contains("{") || text.contains("}") { return nil }
        self.isPrefix = isPrefix
    }

    var description: String {
        "/"
            + segments.map {
                switch $0 {
                case .literal(let text): text
                case .parameter(let name): "{\(name)}"
                }
            }.joined(separator: "/") + (isPrefix ? (segments.isEmpty ? "*" : "/*") : "")
    }
}

/// Which pages may use a route from a browser (Fetch standard, CORS protocol). Cookies are not used: requests
/// authenticate with a bearer.
struct CORSPolicy: Sendable, Equatable {
    /// As browsers write them: `https://app.example.com`. `*` allows every page.
    var origins: Set<VerbatimString>
    /// Request fields that are allowed besides those that every page may send.
    var headers = ["Authorization", "Content-Type"]
    /// Response fields that a page may read besides those that every page may.
    var exposed: [String] = []
    /// Seconds for which a browser may cache the preflight response.
    var maximumAge = 600

    func allows(_ origin: String) -> Bool { origins.contains("*") || origins.contains(origin) }

    /// Whether the text is an origin as browsers write it (RFC 6454 §6.2), or `*`.
    static func isOrigin(_ text: String) -> Bool {
        if text == "*" { return true }
        guard let scheme = ["https://", "http://"].first(where: text.hasPrefix) else { return false }
        let host = text.dropFirst(scheme.count)
        let allowed = ByteSet(.alphanumeric, "-.:[]")
        return !host.isEmpty && host.utf8.allSatisfy(allowed.contains) && text == text.lowercased()
    }
}
