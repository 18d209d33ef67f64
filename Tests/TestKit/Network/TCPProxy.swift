import NIOCore
import NIOPosix
import Synchronization

/// A proxy between a client and a server on this machine, which cuts connections on request.
public final class TCPProxy: Sendable {
    private let listener: any Channel
    private let link: Link

    /// The port to connect to.
    public let port: Int

    fileprivate init(to server: Int) async throws {
        let link = Link(server: server)
        self.link = link
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { client in
                guard let number = link.number(of: client) else {
                    return client.eventLoop.makeFailedFuture(ChannelError.eof)
                }
                if link.isSilent(number) { return client.eventLoop.makeSucceededVoidFuture() }
                return ClientBootstrap(group: client.eventLoop)
                    .channelInitializer { upstream in
                        upstream.eventLoop.makeCompletedFuture {
                            try upstream.pipeline.syncOperations.addHandler(
                                RelayHandler(to: client, link: link, number: number, counts: true))
                        }
                    }
                    .connect(host: "127.0.0.1", port: link.server)
                    .flatMapThrowing { upstream in
                        try client.pipeline.syncOperations.addHandler(
                            RelayHandler(to: upstream, link: link, number: number, counts: false))
                    }
            }
        listener = try await bootstrap.bind(host: "127.0.0.1", port: 0).get()
        port = listener.localAddress?.port ?? 0
    }

    /// Ends the connection that delivers the `count`th byte from the server, counted from now, after that byte.
    public func cut(afterBytesFromServer count: Int) {
        link.cut(after: count, severs: false)
    }

    /// Ends all connections and accepts no new one until ``join()``.
    public func sever() { link.sever() }

    /// Like ``sever()``, at the `count`th byte from the server, counted from now over all connections.
    public func sever(afterBytesFromServer count: Int) {
        link.cut(after: count, severs: true)
    }

    /// Forwards nothing from now on and closes nothing, as if packets were dropped. New connections are accepted, but
    /// get no answer.
    public func goSilent() { link.goSilent(includingNewConnections: true) }

    /// Forwards nothing over existing connections from now on and closes none of them. New connections work.
    public func silenceConnections() { link.goSilent(includingNewConnections: false) }

    /// Forwards new connections to another server, like a changed DNS name. Existing connections stay.
    public func redirect(to server: Int) { link.server = server }

    /// Accepts connections again.
    public func join() { link.join() }

    fileprivate func close() async {
        try? await listener.close()
    }
}

/// Runs `body` with a proxy in front of the server on port `server` of this machine.
public func withTCPProxy<Value: Sendable>(
    to server: Int, isolation: isolated (any Actor)? = #isolation, _ body: (TCPProxy) async throws -> Value
) async throws -> Value {
    let proxy = try await TCPProxy(to: server)
    return try await runFinally {
        try await body(proxy)
    } finally: {
        await proxy.close()
    }
}

/// The state of the forwarding.
private final class Link: Sendable {
    private struct State {
        var server: Int
        /// How many more bytes from the server are forwarded; `nil` for all.
        var remaining: Int?
        /// Whether all connections end with the last of these bytes and no new one is accepted.
        var severs = false
        var isSevered = false
        /// The number of accepted connections. Each has a number, beginning with 1.
        var accepted = 0
        /// Connections up to this number forward nothing.
        var silentUpTo = 0
        var clients: [ObjectIdentifier: any Channel] = [:]
    }

    private let state: Mutex<State>

    init(server: Int) {
        state = Mutex(State(server: server))
    }

    /// The port that new connections are forwarded to.
    var server: Int {
        get { state.withLock(\.server) }
        set { state.withLock { $0.server = newValue } }
    }

    /// Registers a connecting client. Returns the number of its connection, or nil if it is not accepted.
    func number(of client: any Channel) -> Int? {
        let id = ObjectIdentifier(client)
        let number: Int? = state.withLock { state in
            guard !state.isSevered else { return nil }
            state.clients[id] = client
            state.accepted += 1
            return state.accepted
        }
        client.closeFuture.whenComplete { [self] _ in
            _ = state.withLock { $0.clients.removeValue(forKey: id) }
        }
        return number
    }

    func cut(after count: Int, severs: Bool) {
        state.withLock { state in
            state.remaining = count
            state.severs = severs
        }
    }

    func goSilent(includingNewConnections: Bool) {
        state.withLock { $0.silentUpTo = includingNewConnections ? .max : $0.accepted }
    }

    func isSilent(_ number: Int) -> Bool { state.withLock { number <= $0.silentUpTo } }

    func sever() {
        let clients = state.withLock { state in
            state.isSevered = true
            return state.clients.values
        }
        for client in clients { client.close(promise: nil) }
    }

    func join() {
        state.withLock { state in
            state.remaining = nil
            state.isSevered = false
        }
    }

    /// Takes up to `count` bytes from the remaining ones. Returns how many are forwarded, and whether the connection
    /// ends after them.
    func admit(_ count: Int) -> (bytes: Int, ends: Bool) {
        let (bytes, ends, severs) = state.withLock { state in
            guard let left = state.remaining else { return (count, false, false) }
            if count < left {
                state.remaining = left - count
                return (count, false, false)
            }
            state.remaining = nil
            return (left, true, state.severs)
        }
        if severs { sever() }
        return (bytes, ends)
    }
}

/// Forwards the bytes of one connection to the other, and closes the other when its own connection ends.
private final class RelayHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel
    private let link: Link
    private let number: Int
    /// Whether this handler reads from the server.
    private let counts: Bool

    init(to other: any Channel, link: Link, number: Int, counts: Bool) {
        self.other = other
        self.link = link
        self.number = number
        self.counts = counts
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if link.isSilent(number) { return }
        var buffer = unwrapInboundIn(data)
        let (bytes, ends) = counts ? link.admit(buffer.readableBytes) : (buffer.readableBytes, false)
        let written = other.writeAndFlush(buffer.readSlice(length: bytes))
        if ends {
            context.close(promise: nil)
            written.whenComplete { [other] _ in other.close(promise: nil) }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if !link.isSilent(number) { other.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
