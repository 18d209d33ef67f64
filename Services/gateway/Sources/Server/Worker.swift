import Bytes
import Foundation
import NIOCore
import ServiceKit
import Synchronization

/// The worker of one event loop: the state that its connections share. Only that event loop accesses it, so it has no
/// locks.
final class Worker {
    let eventLoop: any EventLoop
    let gateway: Gateway
    let bearers: BearerVerifier
    let clientTimes: ClientTimes
    /// Reused, so that scanning allocates nothing.
    var requestHead = RequestHead()
    var responseHead = ResponseHead()
    /// Bytes of responses that wait for clients.
    var output: BufferBudget
    /// Bytes of request bodies that wait for upstreams.
    var requestBodies: BufferBudget
    var random = FastRandom()
    /// Responses that end when the token that opened them becomes invalid.
    var streams: [ObjectIdentifier: Exchange] = [:]

    /// The routes that requests are admitted with.
    private(set) var routes = RouteSnapshot()
    private(set) var connections: [ClientConnection] = []
    let timers: TimerWheel
    private var http2Connections: [ObjectIdentifier: HTTP2Connection] = [:]
    private var sweeps = 0
    private var stalls = StallRecord()
    /// The `Date` field, a whole line. `sweep` keeps it current, so that responses do not pay for it.
    private(set) var dateLine: [UInt8] = []
    private var dateSecond: Int64 = 0

    init(eventLoop: any EventLoop, gateway: Gateway) {
        self.eventLoop = eventLoop
        self.gateway = gateway
        clientTimes = ClientTimes(gateway.settings)
        timers = TimerWheel(now: Self.now)
        output = BufferBudget(gateway.output)
        requestBodies = BufferBudget(gateway.requestBodies)
        bearers = BearerVerifier(
            keys: gateway.keys, revoked: gateway.revoked, cacheCapacity: gateway.settings.tokenCacheCapacity)
        writeDate()
    }

    /// Takes the routes in force, and the current addresses of their upstreams.
    func takeRoutes() {
        routes = RouteSnapshot(gateway.routes.inForce, gateway.names.addresses, after: routes, worker: self)
    }

    // MARK: Time

    /// Nanoseconds of a monotonic clock.
    var now: Int64 { Self.now }
    private static var now: Int64 { Int64(truncatingIfNeeded: NIODeadline.now().uptimeNanoseconds) }

    /// Seconds since 1970. `time()` may lag by a tick of the kernel, so tokens would be accepted for longer.
    var wallClock: Int64 { Int64(Date.now.timeIntervalSince1970) }

    /// Nanoseconds for which a request that is read now may have waited in its socket.
    var socketDelay: Int64 { stalls.wait(ofReadAt: .now).nanoseconds }

    /// The interval between two calls of `sweep`.
    static let sweepInterval = TimeAmount.nanoseconds(TimerWheel.tick)

    /// Calls the handlers of passed deadlines, and does periodic work.
    func sweep() {
        writeDate()
        let now = now
        stalls.beat(at: .now)
        timers.advance(to: now)
        sweeps += 1
        if sweeps % 5 == 0 { endStreamsWithoutValidToken() }
        if sweeps % 10 == 0 {
            for pool in routes.pools.values { pool.sweep(now: now) }
            report()
        }
    }

    private func endStreamsWithoutValidToken() {
        guard !streams.isEmpty else { return }
        let now = wallClock
        for stream in Array(streams.values) { stream.endUnlessAccepted(now: now) }
    }

    private func writeDate() {
        let second = wallClock
        guard second != dateSecond else { return }
        dateSecond = second
        dateLine = Array("Date: \(UTCTime(secondsSince1970: Int64(second)).imfFixdate)\r\n".utf8)
    }

    /// Reports the counts that are kept here between two reports, so that requests do not pay for them.
    private func report() {
        routes.report()
        gateway.metrics.report(connections: gateway.openConnections.count)
    }

    // MARK: Connections

    func add(_ connection: ClientConnection) {
        connection.workerIndex = connections.count
        connections.append(connection)
    }

    func remove(_ connection: ClientConnection) {
        let index = connection.workerIndex
        guard index >= 0 else { return }
        timers.remove(connection)
        connections.swapAt(index, connections.count - 1)
        connections[index].workerIndex = index
        connections.removeLast()
        connection.workerIndex = -1
    }

    /// Admits or refuses the requests that wait for keys, because the keys have changed or could not be fetched.
    func keysChanged() {
        for connection in connections where connection.waitsForKeys { connection.endKeyWait() }
    }

    func add(_ connection: HTTP2Connection) {
        http2Connections[ObjectIdentifier(connection)] = connection
        timers.note(connection)
    }

    func remove(_ connection: HTTP2Connection) {
        http2Connections[ObjectIdentifier(connection)] = nil
        timers.remove(connection)
    }

    /// Ends the connections that carry no request.
    func closeIdleConnections() {
        for connection in connections { connection.closeIfIdle() }
        for connection in http2Connections.values { connection.end() }
    }
}
