import NIOCore

/// A request that may go on to its upstream, as admission leaves it.
struct AdmittedRequest {
    /// As the upstream is sent it, but for the lines that are added when it is sent.
    var head: ByteBuffer
    var method: MethodSet
    /// As the client wrote it, without the query; for logs.
    var path: [UInt8]
    var framing: BodyFraming
    var expectsContinue: Bool
    /// Trailer fields that go no further.
    var connectionOptions: [[UInt8]] = []
    var requestID: [UInt8]
    var trace: TraceParent
    /// What the upstream was told of as its parent in the trace.
    var clientSpan: UInt64 = 0
    /// The gateway's own part of the trace; 0 where the trace is not recorded.
    var serverSpan: UInt64 = 0
    /// The user; `nil`: nobody is signed in.
    var identity: VerifiedToken?
    /// Whether the client asks to go on as WebSocket.
    var upgrades = false
    /// Whether the client asks for a WebSocket or an event stream.
    var opensStream = false
    /// What a browser is told of the page that asks: whole lines.
    var cors: [UInt8] = []
    var client: ClientAddress
    /// Whether refusals of it are counted against the address.
    var countsFailures = false
    /// When its head was read; nanoseconds of the worker's clock.
    var startedAt: Int64
    /// Before `startedAt`, if it may have waited in its socket.
    var arrivedAt: Int64
}
