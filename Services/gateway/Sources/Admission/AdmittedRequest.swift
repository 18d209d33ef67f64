import GatehouseObservability
import GatehouseServiceContracts
import NIOCore

/// An admitted request, ready to be forwarded to its upstream.
struct AdmittedRequest {
    /// The head for the upstream, without the lines that are added when it is sent.
    var head: ByteBuffer
    var method: RequestMethod
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
    var clientAddress: ClientAddress
    /// Whether 4xx responses of the service, and a slow body, count against the client's address.
    var countsRejections = false
    /// When the request was admitted; nanoseconds of the worker's clock.
    var startedAt: Int64
    /// When the request arrived: earlier than `startedAt` if it has waited for keys, or may have waited in its socket.
    var arrivedAt: Int64
}

extension RequestAdmission {
    mutating func forward(identity: VerifiedToken?, bearerError: ErrorCode?, maxForwards: Int?) -> AdmissionResult {
        guard let routeState, let permit, let method, case .route(let route, let forwardedPath) = match else {
            preconditionFailure("A request is forwarded to its route, after it has taken a permit.")
        }
        let given = fields.traceparent.flatMap {
            TraceParent(UnsafeRawBufferPointer(rebasing: bytes[fields.lines[$0].value]))
        }
        var trace = given ?? TraceParent(high: worker.random.next(), low: worker.random.next(), flags: 0)
        let clientSpan = worker.random.next()
        var serverSpan: UInt64 = 0
        if let tracer = gateway.tracer {
            serverSpan = sample(&trace, given: given, by: tracer.sampler)
        } else if !gateway.settings.followsClientTraces {
            // The gateway records no trace here. A client must not decide that services record traces.
            trace.flags = 0
        }
        let head = ForwardedRequestHead(
            upstreamLines: routeState.upstreamLines, forwardsAuthorization: route.forwardsAuthorization,
            pathPrefix: route.prefixReplacement ?? [], forwardedPath: forwardedPath, identity: identity,
            claimLines: route.claims.isEmpty ? [] : identity?.lines(of: route.claims) ?? [], bearerError: bearerError,
            client: address, droppedFields: gateway.settings.droppedFields, isSecure: isSecure,
            isHTTP2: client.peer.isHTTP2, requestID: requestID, trace: trace, span: clientSpan,
            continuesTrace: given != nil, maxForwards: maxForwards, upgrades: upgrades)
        let request = AdmittedRequest(
            head: head.write(worker.requestHead, bytes), method: method, path: Array(path), framing: framing,
            expectsContinue: fields.expect != nil,
            connectionOptions: framing == .chunked
                ? fields.connectionOptions(in: bytes) + gateway.settings.droppedFields : [], requestID: requestID,
            trace: trace, clientSpan: clientSpan, serverSpan: serverSpan, identity: identity,
            upgrades: upgrades, opensStream: opensStream, cors: Array(cors.utf8), clientAddress: address,
            countsRejections: route.limitsRejections, startedAt: now, arrivedAt: arrivedAt)
        return .forward(Exchange(client: client, routeState: routeState, request: request, permit: permit))
    }

    /// Decides whether the trace is recorded, and sets the flag for the upstream.
    ///
    /// - Returns: the gateway's own span; 0 where the trace is not recorded.
    private func sample(_ trace: inout TraceParent, given: TraceParent?, by sampler: TraceSampler) -> UInt64 {
        let isSampled = sampler.samples(
            parent: given?.isSampled, isTrusted: gateway.settings.followsClientTraces, random: worker.random.next())
        trace.flags = isSampled ? 1 : 0
        return isSampled ? worker.random.next() : 0
    }
}
