import Contracts
import NIOCore
import Observability

/// The decision about a request whose head was parsed.
enum Admission {
    case forward(Exchange)
    case respond(LocalResponse, requestID: [UInt8])
    /// The gateway is fetching the key of the bearer token. The head is admitted again afterwards.
    case waitForKeys(RequestPlaces.Place)
}

/// An admitted request, ready to be forwarded to its upstream.
struct AdmittedRequest {
    /// The head for the upstream, without the lines that are added when it is sent.
    var head: ByteBuffer
    var method: MethodSet
    /// The path as the client wrote it, without the query; for logs.
    var path: [UInt8]
    var framing: BodyFraming
    var expectsContinue: Bool
    /// Names of the trailer fields that are not forwarded.
    var connectionOptions: [[UInt8]] = []
    var requestID: [UInt8]
    var trace: TraceParent
    /// The span that the upstream receives as its parent in the trace.
    var clientSpan: UInt64 = 0
    /// The gateway's own span; 0 where the trace is not recorded.
    var serverSpan: UInt64 = 0
    /// The user; `nil`: the request is unauthenticated.
    var identity: VerifiedToken?
    /// Whether the client asks for an upgrade to WebSocket.
    var upgrades = false
    /// Whether the client asks for a WebSocket or an event stream.
    var opensStream = false
    /// The CORS lines of the response: whole field lines.
    var cors: [UInt8] = []
    var client: ClientAddress
    /// Whether refusals by the service count against the client's address.
    var countsFailures = false
    /// When the head was read; nanoseconds of the worker's clock.
    var startedAt: Int64
    /// When the request arrived: earlier than `startedAt` if it may have waited in its socket.
    var arrivedAt: Int64
}

/// Admits or refuses a request. The contract fixes the order: the gateway's own health, limits, route, bearer, role,
/// size.
extension Worker {
    /// - Parameters:
    ///   - bytes: exactly the head that was scanned into `requestHead`.
    ///   - mayWait: `false` once the request has waited for keys for as long as it may.
    func admit(
        _ bytes: UnsafeRawBufferPointer, from client: ClientConnection, mayWait: Bool
    ) -> Admission {
        let fields = requestHead.fields
        let requestID = identifier(fields, bytes)
        let path = UnsafeRawBufferPointer(rebasing: bytes[requestHead.path])
        let now = now
        let address = clientAddress(fields, bytes, of: client.peer)
        let routes = routes
        let match = routes.table.match(path: path, method: requestHead.method)
        var errorForm = ErrorForm.problem
        var cors = ""
        var routeName: String?
        var place: RequestPlaces.Place?
        func leavePlace() { if let taken = place.take() { gateway.places.leave(taken) } }
        func respond(_ response: LocalResponse, refusal: String? = nil) -> Admission {
            leavePlace()
            logAccess(
                AccessLine(
                    requestID: requestID, method: methodName(bytes), path: Array(path), client: address,
                    isHTTP2: client.peer.isHTTP2, route: routeName, status: response.status,
                    nanoseconds: self.now - now, bytesOut: response.bodyBytes(toHead: requestHead.method == .head),
                    refusal: refusal))
            return .respond(response, requestID: requestID)
        }
        if case .route(let route, _) = match {
            routeName = route.name
            // Before all limits: a busy gateway is healthy, and refusing its probe would have it restarted.
            if let response = health(route) { return respond(response) }
            errorForm = route.errorForm
            cors = route.cors?.lines(for: text(fields.origin, fields, bytes)) ?? ""
        }
        func refuse(_ problem: Problem, fields: String = "", reason: String? = nil) -> Admission {
            let reason = reason ?? problem.code.rawValue
            let response = LocalResponse.refusal(problem, as: errorForm, requestID: requestID, fields: fields + cors)
            countRefusal(reason, response, match, since: now)
            return respond(response, refusal: reason)
        }
        if client.peer.isOverLimit { return refuse(Problem(.unavailable)) }
        var plan: RoutePlan?
        if case .route(let route, _) = match {
            let found = routes.plan(for: route)
            plan = found
            if let share = found.share {
                place = gateway.places.take(share, of: address.key)
                guard place != nil else { return refuse(Problem(.unavailable)) }
            }
        }
        /// - Returns: `nil` where the request may not wait, or too many requests wait already.
        func waitingPlace(of share: RequestPlaces.Share) -> RequestPlaces.Place? {
            leavePlace()
            return mayWait ? gateway.places.take(share, of: address.key) : nil
        }
        func tooMany(_ refusal: RateLimit.Refusal, of name: String) -> Admission {
            let problem = Problem.tooMany(refusal.retryAfter)
            return refuse(problem, fields: refusal.limit.fields(name: name, retryAfter: problem.retryAfter ?? 1))
        }
        if let refusal = gateway.addressLimiter?.take(address.key, now: now) {
            return tooMany(refusal, of: "address")
        }

        if requestHead.method == .options, let response = preflight(path: path, fields, bytes) {
            return respond(response)
        }

        let route: Route
        let forwardedPath: Range<Int>
        switch match {
        case .notFound: return refuse(Problem(.notFound))
        case .methodNotAllowed(let allow): return refuse(Problem(.methodNotAllowed), fields: "Allow: \(allow)\r\n")
        case .route(let found, let range): (route, forwardedPath) = (found, range)
        }
        var maxForwards: Int?
        if requestHead.method == .options, fields.maxForwards != nil {
            guard let hops = hops(fields, bytes) else { return refuse(Problem(.invalidRequest)) }
            if hops == 0 {
                return respond(LocalResponse(status: 204, fields: "Allow: \(route.methods.description)\r\n\(cors)"))
            }
            maxForwards = hops - 1
        }
        if route.target.isDocument {
            // A document that is sent whole may have to wait for a slow client. It exceeds the memory that each client
            // always has.
            guard !output.isShort else { return refuse(Problem(.unavailable)) }
            let known = fields.value(of: "if-none-match", in: bytes)
            guard let response = document(route, known: known) else { return refuse(Problem(.notFound)) }
            countResponse(of: route, response, since: now)
            return respond(response)
        }
        if route.isSignIn, let refusal = gateway.signInLimiter?.take(address.key, now: now) {
            return tooMany(refusal, of: "sign-in")
        }

        // All other targets have been answered above.
        guard let plan, place != nil else { return refuse(Problem(.notFound)) }
        var identity: VerifiedToken?
        var bearerError: ErrorCode?
        if route.authentication != .none {
            switch verifyBearer(fields, bytes, on: route) {
            case .waitsForKeys:
                // The service may not need the bearer, so its requests do not wait for keys.
                guard route.authentication == .reported else {
                    let share = route.issuers.isEmpty ? gateway.keyWaits : gateway.partnerKeyWaits
                    guard let waiting = waitingPlace(of: share) else { return refuse(Problem(.unavailable)) }
                    return .waitForKeys(waiting)
                }
                bearerError = .unavailable
            case .missing:
                if route.authentication == .required {
                    return refuse(Problem(.invalidToken), fields: "WWW-Authenticate: Bearer realm=\"gatehouse\"\r\n")
                }
            case .refused(let code):
                if route.authentication == .reported {
                    bearerError = code
                } else {
                    return refuse(Problem(code), fields: Self.challenge(code))
                }
            case .accepted(let token):
                plan.countToken(cached: bearers.didFindLast)
                identity = token
            }
        }
        if !route.roles.isEmpty, !(identity?.hasRole(of: route.roles) ?? false) {
            return refuse(Problem(.forbidden))
        }
        if let age = route.maximumAuthenticationAge, !(identity?.isAuthenticated(within: age, now: wallClock) ?? false)
        {
            let problem = Problem.reauthenticationRequired(maximumAge: age)
            return refuse(problem, fields: "WWW-Authenticate: \(problem.bearerChallenge ?? "Bearer")\r\n")
        }
        if let identity, let limiter = gateway.userLimiter, let wait = limiter.take(identity.userKey, now: now) {
            return tooMany(.init(retryAfter: wait, limit: limiter.limit), of: "user")
        }
        if let limiter = plan.limiter, gateway.settings.limitsRoutes,
            let refusal = limiter.take(user: identity?.userKey, address: address.key, now: now)
        {
            return tooMany(refusal, of: "route")
        }

        let framing = requestHead.framing
        if case .length(let length) = framing, length > route.bodyLimit { return refuse(Problem(.payloadTooLarge)) }
        if fields.hasUnknownExpectation { return refuse(Problem(.expectationFailed)) }

        let arrivedAt = now - wait
        // The client no longer waits for the response.
        guard now < arrivedAt + plan.timeout else { return refuse(Problem(.unavailable)) }
        let given = fields.traceparent.flatMap {
            TraceParent(UnsafeRawBufferPointer(rebasing: bytes[fields.lines[$0].value]))
        }
        let upgrades =
            route.allowsWebSocket && requestHead.method == .get && framing == .length(0)
            && fields.upgradesToWebSocket(in: bytes)
        let opensStream = upgrades || (requestHead.method == .get && fields.acceptsEventStream(in: bytes))
        if opensStream, !gateway.streams.hasRoom(for: address.key) { return refuse(Problem(.unavailable)) }
        var trace = given ?? TraceParent(high: random.next(), low: random.next(), flags: 0)
        let clientSpan = random.next()
        var serverSpan: UInt64 = 0
        if let tracing = gateway.tracing {
            serverSpan = sample(&trace, given: given, by: tracing.sampler)
        } else if !gateway.settings.followsClientTraces {
            // The gateway records no trace here. A client must not decide that services record theirs.
            trace.flags = 0
        }
        let head = ForwardedRequestHead(
            upstreamLines: plan.upstreamLines, forwardsAuthorization: route.forwardsAuthorization,
            pathPrefix: route.prefixReplacement ?? [], forwardedPath: forwardedPath, identity: identity,
            claimLines: route.claims.isEmpty ? [] : identity?.lines(of: route.claims) ?? [], bearerError: bearerError,
            client: address, droppedFields: gateway.settings.droppedFields,
            isSecure: isSecure(fields, bytes, of: client.peer),
            isHTTP2: client.peer.isHTTP2, requestID: requestID, trace: trace, span: clientSpan,
            continuesTrace: given != nil, maxForwards: maxForwards, upgrades: upgrades)
        let request = AdmittedRequest(
            head: head.write(requestHead, bytes), method: requestHead.method, path: Array(path), framing: framing,
            expectsContinue: fields.expect != nil,
            connectionOptions: framing == .chunked
                ? fields.connectionOptions(in: bytes) + gateway.settings.droppedFields : [], requestID: requestID,
            trace: trace, clientSpan: clientSpan, serverSpan: serverSpan, identity: identity,
            upgrades: upgrades, opensStream: opensStream, cors: Array(cors.utf8), client: address,
            countsFailures: route.limitsFailures,
            startedAt: now, arrivedAt: arrivedAt)
        return .forward(Exchange(client: client, plan: plan, request: request, place: place))
    }

    /// Decides whether the trace is recorded, and sets the flag for the upstream.
    ///
    /// - Returns: the gateway's own span; 0 where the trace is not recorded.
    private func sample(_ trace: inout TraceParent, given: TraceParent?, by sampler: TraceSampler) -> UInt64 {
        let isSampled = sampler.samples(
            parent: given?.isSampled, isTrusted: gateway.settings.followsClientTraces, random: random.next())
        trace.flags = isSampled ? 1 : 0
        return isSampled ? random.next() : 0
    }

    private func countRefusal(
        _ reason: String, _ response: LocalResponse, _ match: RouteTable.Match, since start: Int64
    ) {
        guard case .route(let route, _) = match else { return gateway.metrics.countRefusal(reason) }
        gateway.metrics.countRefusal(reason, route: route.name)
        countResponse(of: route, response, since: start)
    }

    private func countResponse(of route: Route, _ response: LocalResponse, since start: Int64) {
        gateway.metrics.route(route.name).record(
            method: requestHead.method, status: response.status, nanoseconds: self.now - start)
    }

    /// The gateway's own health.
    private func health(_ route: Route) -> LocalResponse? {
        switch route.target {
        case .liveness: LocalResponse(status: 200, body: .text(#"{"status":"ok"}"#))
        case .readiness where gateway.isReady(now: wallClock):
            LocalResponse(status: 200, body: .text(#"{"status":"ready"}"#))
        case .readiness:
            LocalResponse(status: 503, fields: "Retry-After: 1\r\n", body: .text(#"{"status":"not ready"}"#))
        case .upstream, .document, .consoleSettings: nil
        }
    }

    /// The response from a document that is built into the gateway.
    private func document(_ route: Route, known: UnsafeRawBufferPointer?) -> LocalResponse? {
        switch route.target {
        case .document(let document): document.response(to: known)
        case .consoleSettings(let basePath):
            // A base path has no character that JSON would escape.
            LocalResponse(
                status: 200, fields: "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n",
                body: .text(#"{"basePath":"\#(basePath)"}"#))
        case .upstream, .liveness, .readiness: nil
        }
    }

    /// The response to a browser's preflight request (CORS). `nil` where the request is not a preflight, or the route
    /// leaves CORS to its upstream.
    private func preflight(
        path: UnsafeRawBufferPointer, _ fields: FieldSection, _ bytes: UnsafeRawBufferPointer
    ) -> LocalResponse? {
        guard let origin = text(fields.origin, fields, bytes),
            let method = fields.value(of: "access-control-request-method", in: bytes).map(MethodSet.init(name:)),
            case .route(let route, _) = routes.table.match(path: path, method: method), let cors = route.cors
        else { return nil }
        let isAllowed = cors.allows(origin)
        return LocalResponse(
            status: 204,
            fields: isAllowed ? cors.preflightLines(for: origin, methods: route.methods) : "Vary: Origin\r\n")
    }
}

extension Problem {
    static func tooMany(_ retryAfter: Duration) -> Problem {
        Problem(.rateLimited, retryAfter: Int((retryAfter.nanoseconds + 999_999_999) / 1_000_000_000))
    }
}

/// Verifies the bearer token of a request.
extension Worker {
    enum BearerVerification {
        case missing
        case accepted(VerifiedToken)
        case refused(ErrorCode)
        case waitsForKeys
    }

    func verifyBearer(_ fields: FieldSection, _ bytes: UnsafeRawBufferPointer, on route: Route) -> BearerVerification {
        guard let line = fields.authorization else { return .missing }
        guard !fields.hasSeveralAuthorizations else { return .refused(.invalidToken) }
        let value = UnsafeRawBufferPointer(rebasing: bytes[fields.lines[line].value])
        let scheme = "bearer ".utf8.count
        guard value.count > scheme,
            UnsafeRawBufferPointer(rebasing: value[..<scheme]).equalsFolded("bearer ")
        else { return .refused(.invalidToken) }
        var start = scheme
        while start < value.count, value[start] == .space { start += 1 }
        let token = UnsafeRawBufferPointer(rebasing: value[start...])
        guard token.count <= HeadLimits.bearer else { return .refused(.headersTooLarge) }
        return switch bearers.verify(token, from: route.issuers, now: wallClock) {
        case .accepted(let token): .accepted(token)
        case .refused(let code): .refused(code)
        case .waitsForKeys: .waitsForKeys
        }
    }

    static func challenge(_ code: ErrorCode) -> String {
        guard code.status == 401 else { return "" }
        let description = code == .tokenExpired ? "The access token has expired" : "The access token is not valid"
        return """
            WWW-Authenticate: Bearer realm="gatehouse", error="invalid_token", error_description="\(description)"\r

            """
    }
}

/// Reads the fields of a request.
extension Worker {
    /// How often an OPTIONS request may be forwarded; `nil` where the value of `Max-Forwards` is invalid.
    func hops(_ fields: FieldSection, _ bytes: UnsafeRawBufferPointer) -> Int? {
        guard let line = fields.maxForwards, !fields.hasSeveralMaxForwards else { return nil }
        let digits = bytes[fields.lines[line].value]
        guard !digits.isEmpty else { return nil }
        var hops = 0
        for digit in digits {
            guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") else { return nil }
            hops = min(hops * 10 + Int(digit - UInt8(ascii: "0")), Self.mostHops)
        }
        return hops
    }

    private static let mostHops = 1_000_000_000

    func methodName(_ bytes: UnsafeRawBufferPointer) -> String {
        String(decoding: bytes[..<(requestHead.target.lowerBound - 1)], as: UTF8.self)
    }

    func text(_ place: Int?, _ fields: FieldSection, _ bytes: UnsafeRawBufferPointer) -> String? {
        place.map { String(decoding: bytes[fields.lines[$0].value], as: UTF8.self) }
    }

    func identifier(_ fields: FieldSection, _ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        if let line = fields.requestID {
            let value = bytes[fields.lines[line].value]
            if RequestID.isValid(value) { return Array(value) }
        }
        return [UInt8](unsafeUninitializedCapacity: 32) { room, count in
            for half in 0..<2 {
                let number = random.next()
                for index in 0..<16 {
                    let digit = UInt8(truncatingIfNeeded: number >> UInt64(index * 4)) & 15
                    room[half * 16 + index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
                }
            }
            count = 32
        }
    }

    func clientAddress(
        _ fields: FieldSection, _ bytes: UnsafeRawBufferPointer, of peer: ClientPeer
    ) -> ClientAddress {
        guard peer.isTrustedProxy else { return peer.address }
        let list = Self.values(of: "x-forwarded-for", fields, bytes).joined(separator: ",")
        func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }
        return gateway.settings.trustedProxies.client(
            behind: peer.address,
            forwardedFor: list.split(separator: ",").map { $0.drop(while: isBlank).prefix { !isBlank($0) } })
    }

    func isSecure(
        _ fields: FieldSection, _ bytes: UnsafeRawBufferPointer, of peer: ClientPeer
    ) -> Bool {
        if peer.isSecure { return true }
        guard peer.isTrustedProxy else { return false }
        return Self.values(of: "x-forwarded-proto", fields, bytes).last == "https"
    }

    private static func values(
        of name: StaticString, _ fields: FieldSection, _ bytes: UnsafeRawBufferPointer
    ) -> [String] {
        fields.lines.filter {
            $0.name == .forwarded && UnsafeRawBufferPointer(rebasing: bytes[$0.nameRange]).equalsFolded(name)
        }.map { String(decoding: bytes[$0.value], as: UTF8.self) }
    }
}
