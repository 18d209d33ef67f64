import GatehouseServiceContracts

/// A limit that admission counts requests in. The raw value is its name in `RateLimit-Policy`.
enum AdmissionLimit: String, Sendable {
    /// Of each address and of the networks around it, over all routes.
    case address
    /// Of each address, over the routes where passwords could be guessed.
    case signIn = "sign-in"
    /// Of each user, over all routes.
    case user
    /// Of each user of one route, or of each address of its requests without a user.
    case route
}

/// Why a request is not forwarded.
enum AdmissionRefusal: Sendable, Equatable {
    /// The gateway lacks a permit, memory, keys or time for the request.
    case unavailable
    case limitExceeded(AdmissionLimit, RateLimit.Excess)
    case notFound
    /// - Parameter allow: the value of the `Allow` field.
    case methodNotAllowed(allow: String)
    case invalidMaxForwards
    case bearerMissing
    case bearerRefused(ErrorCode)
    case roleMissing
    /// The user has authenticated too long ago.
    ///
    /// - Parameter maximumAge: seconds.
    case reauthenticationRequired(maximumAge: Int)
    case bodyTooLarge
    case unknownExpectation

    var code: ErrorCode {
        switch self {
        case .unavailable: .unavailable
        case .limitExceeded: .rateLimited
        case .notFound: .notFound
        case .methodNotAllowed: .methodNotAllowed
        case .invalidMaxForwards: .invalidRequest
        case .bearerMissing: .invalidToken
        case .bearerRefused(let code): code
        case .roleMissing: .forbidden
        case .reauthenticationRequired: .reauthenticationRequired
        case .bodyTooLarge: .payloadTooLarge
        case .unknownExpectation: .expectationFailed
        }
    }
}

/// What the rules decide, before anything is built.
enum AdmissionDecision {
    /// - Parameters:
    ///   - identity: `nil`: the request is unauthenticated.
    ///   - bearerError: why the bearer was not accepted, where the upstream is to decide.
    ///   - maxForwards: the new value of `Max-Forwards`, where it counts.
    case forward(identity: VerifiedToken?, bearerError: ErrorCode?, maxForwards: Int?)
    /// The gateway's own response.
    case respond(Response)
    /// The key of the bearer token is being fetched. The head is admitted again afterwards.
    case waitForKeys
    case refuse(AdmissionRefusal)

    enum Response: Sendable, Equatable {
        case health
        /// To a browser's preflight request (CORS).
        case preflight
        /// The methods of a route.
        case allowedMethods
        case document
    }
}

/// Performs the checks of one request for ``AdmissionRules``, which performs none twice (`count(in:user:)` once for
/// each limit).
protocol AdmissionChecks {
    /// Whether the connection is one more than the gateway takes.
    var isOverConnectionLimit: Bool { get }
    var isOptions: Bool { get }
    var hasMaxForwards: Bool { get }
    /// `nil` where the value of `Max-Forwards` is invalid.
    var maxForwards: Int? { get }
    /// Whether responses wait for clients with most of the memory for that.
    var isOutputShort: Bool { get }
    /// `nil` where the head does not say.
    var bodyLength: Int? { get }
    var hasUnknownExpectation: Bool { get }
    /// Seconds since 1970.
    var wallClock: Int64 { get }
    /// Whether the route's timeout has not passed since the request arrived.
    var isInTime: Bool { get }
    /// Whether there is room for the stream or WebSocket that the request asks for, if it asks for one.
    var hasRoomForStream: Bool { get }

    /// Takes a permit among the requests of the route's upstream.
    mutating func takePermit() -> Bool
    /// Takes one request from a limit.
    ///
    /// - Parameter user: `nil`: the request counts for its address.
    /// - Returns: `nil` where the request is within the limit.
    mutating func count(in limit: AdmissionLimit, user: UserKey?) -> RateLimit.Excess?
    /// Makes the response to a preflight request.
    ///
    /// - Returns: `false` where the request is not one, or its route leaves CORS to the upstream.
    mutating func makePreflightResponse() -> Bool
    /// Makes the response of a document that is built in.
    ///
    /// - Returns: `false` where there is no document at the path.
    mutating func makeDocument() -> Bool
    /// - Returns: `nil` where the request has no bearer.
    mutating func verifyBearer() -> CachingBearerVerifier.Verification?
    /// Exchanges the request's permit for one among the requests that wait for keys.
    ///
    /// - Returns: `false` where the request may not wait, or too many wait already.
    mutating func takePermitToWaitForKeys() -> Bool
}

/// Decides by its head whether a request is forwarded.
///
/// In this order: the gateway's own health; connection limit; permit; limit of the address; preflight; route;
/// `Max-Forwards`; document; limit of sign-ins; bearer; role; age of the authentication; limit of the user; limit of
/// the route; size; `Expect`; time; room for a stream. The first that fails decides.
///
/// A request waits for its body and for a permit of its queue afterwards: see ``ExchangeMachine``.
enum AdmissionRules {
    static func decide(_ match: RouteTable.Match, _ checks: inout some AdmissionChecks) -> AdmissionDecision {
        var isForUpstream = false
        if case .route(let route, _) = match {
            switch route.target {
            // Before all limits: a busy gateway is healthy, and refusing its probe would have it restarted.
            case .liveness, .readiness: return .respond(.health)
            case .upstream: isForUpstream = true
            case .document, .consoleSettings: break
            }
        }
        if checks.isOverConnectionLimit { return .refuse(.unavailable) }
        if isForUpstream, !checks.takePermit() { return .refuse(.unavailable) }
        if let excess = checks.count(in: .address, user: nil) { return .refuse(.limitExceeded(.address, excess)) }
        // Whatever the route has to say of OPTIONS, since a browser asks about another method.
        if checks.isOptions, checks.makePreflightResponse() { return .respond(.preflight) }
        return switch match {
        case .notFound: .refuse(.notFound)
        case .methodNotAllowed(let allow): .refuse(.methodNotAllowed(allow: allow))
        case .route(let route, _): decide(route, &checks)
        }
    }

    private static func decide(_ route: Route, _ checks: inout some AdmissionChecks) -> AdmissionDecision {
        var maxForwards: Int?
        if checks.isOptions, checks.hasMaxForwards {
            guard let hops = checks.maxForwards else { return .refuse(.invalidMaxForwards) }
            if hops == 0 { return .respond(.allowedMethods) }
            maxForwards = hops - 1
        }
        if route.target.isDocument {
            // A document that is sent whole may have to wait for a slow client. It exceeds the memory that each client
            // always has.
            if checks.isOutputShort { return .refuse(.unavailable) }
            return checks.makeDocument() ? .respond(.document) : .refuse(.notFound)
        }
        if route.isSignIn, let excess = checks.count(in: .signIn, user: nil) {
            return .refuse(.limitExceeded(.signIn, excess))
        }

        var identity: VerifiedToken?
        var bearerError: ErrorCode?
        if route.authentication != .none {
            switch checks.verifyBearer() {
            case .accepted(let token): identity = token
            case nil: if route.authentication == .required { return .refuse(.bearerMissing) }
            case .refused(let code):
                guard route.authentication == .reported else { return .refuse(.bearerRefused(code)) }
                bearerError = code
            case .waitsForKeys:
                // The service may not need the bearer, so its requests do not wait for keys.
                guard route.authentication == .reported else {
                    return checks.takePermitToWaitForKeys() ? .waitForKeys : .refuse(.unavailable)
                }
                bearerError = .unavailable
            }
        }
        if !route.roles.isEmpty, !(identity?.hasRole(of: route.roles) ?? false) { return .refuse(.roleMissing) }
        if let age = route.maximumAuthenticationAge,
            !(identity?.isAuthenticated(within: age, now: checks.wallClock) ?? false)
        {
            return .refuse(.reauthenticationRequired(maximumAge: age))
        }
        if let identity, let excess = checks.count(in: .user, user: identity.userKey) {
            return .refuse(.limitExceeded(.user, excess))
        }
        if let excess = checks.count(in: .route, user: identity?.userKey) {
            return .refuse(.limitExceeded(.route, excess))
        }

        if let length = checks.bodyLength, length > route.bodyLimit { return .refuse(.bodyTooLarge) }
        if checks.hasUnknownExpectation { return .refuse(.unknownExpectation) }
        guard checks.isInTime, checks.hasRoomForStream else { return .refuse(.unavailable) }
        return .forward(identity: identity, bearerError: bearerError, maxForwards: maxForwards)
    }
}
