import GatehouseServiceContracts

/// What the connection does with an admitted or refused request.
enum AdmissionResult {
    case forward(Exchange)
    case respond(LocalResponse, requestID: [UInt8])
    /// The gateway is fetching the key of the bearer token. The head is admitted again afterwards.
    ///
    /// - Parameter arrivedAt: when the request arrived.
    case waitForKeys(RequestPermits.Permit, arrivedAt: Int64)
}

/// A request that is being admitted, until `AdmissionRules` has decided about it.
struct RequestAdmission: AdmissionChecks {
    let worker: Worker
    let client: ClientConnection
    let bytes: UnsafeRawBufferPointer
    /// `nil`: a method that no route can name.
    let method: RequestMethod?
    let framing: BodyFraming
    let requestID: [UInt8]
    /// When the head is admitted; nanoseconds of the worker's clock.
    let now: Int64
    let address: ClientAddress
    let match: RouteTable.Match
    private let mayWaitForKeys: Bool
    /// Whether the request has waited for keys, and is admitted again.
    private let hasWaitedForKeys: Bool
    /// When the request arrived: earlier than `now` if it has waited for keys, or may have waited in its socket.
    let arrivedAt: Int64
    /// The state of the route that was found; `nil`: no route was found.
    let routeState: RouteState?
    /// The CORS lines of every response: whole field lines.
    let cors: String
    /// Whether the client asks for an upgrade to WebSocket.
    let upgrades: Bool
    /// Whether the client asks for a WebSocket or an event stream.
    let opensStream: Bool

    // What the checks have found, or hold.
    private(set) var permit: RequestPermits.Permit?
    private var ownResponse: LocalResponse?

    private init(_ bytes: UnsafeRawBufferPointer, from client: ClientConnection, mayWaitForKeys: Bool) {
        let worker = client.worker
        self.worker = worker
        self.client = client
        self.bytes = bytes
        self.mayWaitForKeys = mayWaitForKeys
        method = worker.requestHead.method
        framing = worker.requestHead.framing
        requestID = Self.requestID(bytes, worker)
        now = worker.now
        hasWaitedForKeys = client.state.arrivedAt != nil
        arrivedAt = client.state.arrivedAt ?? now - worker.socketDelay(openedAt: client.peer.openedAt)
        address = Self.clientAddress(bytes, of: client.peer, worker)
        let path = UnsafeRawBufferPointer(rebasing: bytes[worker.requestHead.path])
        match = worker.routes.table.match(path: path, method: method)
        if case .route(let route, _) = match {
            routeState = worker.routes.state(of: route)
            cors = route.cors?.lines(for: Self.origin(worker.requestHead.fields, bytes)) ?? ""
        } else {
            routeState = nil
            cors = ""
        }
        if method == .get, let routeState {
            upgrades =
                routeState.route.allowsWebSocket && framing == .length(0)
                && worker.requestHead.fields.upgradesToWebSocket(in: bytes)
            opensStream = upgrades || worker.requestHead.fields.acceptsEventStream(in: bytes)
        } else {
            (upgrades, opensStream) = (false, false)
        }
    }

    private static func origin(_ fields: FieldSection, _ bytes: UnsafeRawBufferPointer) -> String? {
        fields.origin.map { String(decoding: bytes[fields.lines[$0].value], as: UTF8.self) }
    }

    var gateway: Gateway { worker.gateway }
    /// Not stored: it has 200 bytes, and this value is copied several times for each request.
    var fields: FieldSection { worker.requestHead.fields }
    var path: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[worker.requestHead.path]) }

    /// Admits or refuses a request.
    ///
    /// - Parameters:
    ///   - bytes: exactly the head that was scanned into `Worker.requestHead`.
    ///   - mayWaitForKeys: `false` once the request has waited for keys for as long as it may.
    static func admit(
        _ bytes: UnsafeRawBufferPointer, from client: ClientConnection, mayWaitForKeys: Bool
    ) -> AdmissionResult {
        var request = RequestAdmission(bytes, from: client, mayWaitForKeys: mayWaitForKeys)
        return switch AdmissionRules.decide(request.match, &request) {
        case .forward(let identity, let bearerError, let maxForwards):
            request.forward(identity: identity, bearerError: bearerError, maxForwards: maxForwards)
        case .respond(let response): request.respond(response)
        case .waitForKeys: request.waitForKeys()
        case .refuse(let refusal): request.refuse(refusal)
        }
    }

    // MARK: Checks

    var isOverConnectionLimit: Bool { client.peer.isOverLimit }
    var isOptions: Bool { method == .options }
    var hasMaxForwards: Bool { fields.maxForwards != nil }
    var isOutputShort: Bool { worker.output.isShort }
    var bodyLength: Int? { framing.length }
    var hasUnknownExpectation: Bool { fields.hasUnknownExpectation }
    var wallClock: Int64 { worker.wallClock }
    var isInTime: Bool { routeState.map { now < arrivedAt + $0.timeout } ?? false }
    var hasRoomForStream: Bool { !opensStream || gateway.streams.hasRoom(for: address.key) }

    mutating func takePermit() -> Bool {
        permit = routeState?.share.flatMap { gateway.permits.take($0, of: address.key) }
        return permit != nil
    }

    private mutating func releasePermit() { if let taken = permit.take() { gateway.permits.release(taken) } }

    func count(in limit: AdmissionLimit, user: UserKey?) -> RateLimit.Excess? {
        switch limit {
        // These were counted before the wait.
        case .address where hasWaitedForKeys, .signIn where hasWaitedForKeys: return nil
        case .address: return gateway.addressLimiter?.take(address.key, now: now)
        case .signIn: return gateway.signInLimiter?.take(address.key, now: now)
        case .user:
            guard let user, let limiter = gateway.userLimiter else { return nil }
            return limiter.take(user, now: now).map { .init(retryAfter: $0, limit: limiter.limit) }
        case .route:
            guard gateway.settings.limitsRoutes else { return nil }
            return routeState?.limiter?.take(user: user, address: address.key, now: now)
        }
    }

    mutating func makePreflightResponse() -> Bool {
        guard let origin = Self.origin(fields, bytes),
            let name = fields.value(of: "access-control-request-method", in: bytes),
            let method = RequestMethod(name: name),
            case .route(let route, _) = worker.routes.table.match(path: path, method: method), let cors = route.cors
        else { return false }
        let isAllowed = cors.allows(origin)
        ownResponse = LocalResponse(
            status: 204,
            fields: isAllowed ? cors.preflightLines(for: origin, methods: route.methods) : "Vary: Origin\r\n")
        return true
    }

    mutating func makeDocument() -> Bool {
        let known = fields.value(of: "if-none-match", in: bytes)
        switch routeState?.route.target {
        case .document(let document): ownResponse = document.response(to: known)
        case .consoleSettings(let basePath):
            // A base path has no character that JSON would escape.
            ownResponse = LocalResponse(
                status: 200, fields: "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n",
                body: .text(#"{"basePath":"\#(basePath)"}"#))
        case .upstream, .liveness, .readiness, nil: break
        }
        return ownResponse != nil
    }

    mutating func takePermitToWaitForKeys() -> Bool {
        releasePermit()
        guard mayWaitForKeys, let routeState else { return false }
        let share = routeState.route.issuers.isEmpty ? gateway.keyWaits : gateway.furtherIssuerKeyWaits
        permit = gateway.permits.take(share, of: address.key)
        return permit != nil
    }

    // MARK: Responses

    mutating func waitForKeys() -> AdmissionResult {
        guard let permit else { return refuse(.unavailable) }
        return .waitForKeys(permit, arrivedAt: arrivedAt)
    }

    mutating func respond(_ response: AdmissionDecision.Response) -> AdmissionResult {
        switch response {
        case .health: return respond(with: healthResponse)
        case .preflight: break
        case .allowedMethods:
            let methods = routeState?.route.methods ?? []
            ownResponse = LocalResponse(status: 204, fields: "Allow: \(methods.description)\r\n\(cors)")
        case .document: if let ownResponse { count(ownResponse) }
        }
        guard let ownResponse else { return refuse(.notFound) }
        return respond(with: ownResponse)
    }

    /// The gateway's own health.
    private var healthResponse: LocalResponse {
        if case .liveness = routeState?.route.target {
            return LocalResponse(status: 200, body: .text(#"{"status":"ok"}"#))
        }
        guard gateway.isReady(now: wallClock) else {
            return LocalResponse(
                status: 503, fields: "Retry-After: 1\r\n", body: .text(#"{"status":"not ready"}"#))
        }
        return LocalResponse(status: 200, body: .text(#"{"status":"ready"}"#))
    }

    mutating func refuse(_ refusal: AdmissionRefusal) -> AdmissionResult {
        let problem = refusal.problem
        let response = LocalResponse.refusal(
            problem, as: routeState?.route.errorForm ?? .problem, requestID: requestID,
            fields: refusal.fields(of: problem) + cors)
        let reason = problem.code.rawValue
        if let routeState {
            gateway.metrics.countRefusal(reason, route: routeState.route.name)
            count(response)
        } else {
            gateway.metrics.countRefusal(reason)
        }
        return respond(with: response, refusal: reason)
    }

    private mutating func respond(with response: LocalResponse, refusal: String? = nil) -> AdmissionResult {
        releasePermit()
        worker.logAccess(
            AccessLine(
                requestID: requestID, method: methodName, path: Array(path), client: address,
                isHTTP2: client.peer.isHTTP2, route: routeState?.route.name, status: response.status,
                nanoseconds: worker.now - now, bytesOut: response.bodyBytes(toHead: method == .head), refusal: refusal))
        return .respond(response, requestID: requestID)
    }

    /// As the client wrote it: the gateway knows not every method.
    private var methodName: String {
        String(decoding: bytes[..<(worker.requestHead.target.lowerBound - 1)], as: UTF8.self)
    }

    private func count(_ response: LocalResponse) {
        guard let routeState, let method else { return }
        gateway.metrics.route(routeState.route.name).record(
            method: method, status: response.status, nanoseconds: worker.now - now)
    }
}

extension AdmissionRefusal {
    var problem: Problem {
        switch self {
        case .limitExceeded(_, let excess): .tooMany(excess.retryAfter)
        case .reauthenticationRequired(let age): .reauthenticationRequired(maximumAge: age)
        case .unavailable, .notFound, .methodNotAllowed, .invalidMaxForwards, .bearerMissing, .bearerRefused,
            .roleMissing, .bodyTooLarge, .unknownExpectation:
            Problem(code)
        }
    }

    /// Whole field lines besides those that every refusal has.
    ///
    /// - Parameter problem: that of this refusal.
    func fields(of problem: Problem) -> String {
        switch self {
        case .methodNotAllowed(let allow): return "Allow: \(allow)\r\n"
        case .limitExceeded(let limit, let excess):
            return excess.limit.fields(name: limit.rawValue, retryAfter: problem.retryAfter ?? 1)
        case .reauthenticationRequired: return "WWW-Authenticate: \(problem.bearerChallenge ?? "Bearer")\r\n"
        case .bearerMissing: return "WWW-Authenticate: Bearer realm=\"gatehouse\"\r\n"
        case .bearerRefused(let code):
            guard code.status == 401 else { return "" }
            let description = code == .tokenExpired ? "The access token has expired" : "The access token is not valid"
            return """
                WWW-Authenticate: Bearer realm="gatehouse", error="invalid_token", \
                error_description="\(description)"\r

                """
        case .unavailable, .notFound, .invalidMaxForwards, .roleMissing, .bodyTooLarge, .unknownExpectation: return ""
        }
    }
}

extension Problem {
    static func tooMany(_ retryAfter: Duration) -> Problem {
        Problem(.rateLimited, retryAfter: Int((retryAfter.nanoseconds + 999_999_999) / 1_000_000_000))
    }
}
