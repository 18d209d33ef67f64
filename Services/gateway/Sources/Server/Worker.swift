import Foundation
import GatehouseBytes
import GatehouseServiceKit
import NIOCore
import Synchronization

/// The worker of one event loop: the state that its connections share. Only that event loop accesses it, so it has no
/// locks.
final class Worker {
    let eventLoop: any EventLoop
    let gateway: Gateway
    let bearers: CachingBearerVerifier
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
    var streams: [ObjectIdentifier: Exchange] = [:] {
        didSet { if !streams.isEmpty { scheduleRound(by: now + Self.streamInterval) } }
    }

    /// The routes that requests are admitted with.
    private(set) var routes = RouteSnapshot()
    private(set) var connections: [ClientConnection] = []
    private let timers: TimerWheel
    private var http2Connections: [ObjectIdentifier: HTTP2Connection] = [:]
    private var stalls = StallRecord()
    /// When the next round of periodic work is due; nanoseconds.
    private var roundAt = Int64.max
    /// When `wakeUp` happens; `.min` while the worker is stopped or awake.
    private var wakesAt = Int64.min
    private var wakeUp: Scheduled<Void>?
    private var date: (second: Int64, line: [UInt8]) = (0, [])

    init(eventLoop: any EventLoop, gateway: Gateway) {
        self.eventLoop = eventLoop
        self.gateway = gateway
        clientTimes = ClientTimes(gateway.settings)
        timers = TimerWheel(now: Self.now)
        output = BufferBudget(gateway.output)
        requestBodies = BufferBudget(gateway.requestBodies)
        bearers = CachingBearerVerifier(
            keys: gateway.keys, revoked: gateway.revoked, cacheCapacity: gateway.settings.tokenCacheCapacity)
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
    ///
    /// - Parameter openedAt: when its connection was accepted.
    func socketDelay(openedAt: ContinuousClock.Instant) -> Int64 {
        stalls.wait(ofReadAt: .now, openedAt: openedAt).nanoseconds
    }

    /// The `Date` field, a whole line.
    var dateLine: [UInt8] {
        let second = wallClock
        if second != date.second {
            date = (second, Array("Date: \(UTCTime(secondsSince1970: second).imfFixdate)\r\n".utf8))
        }
        return date.line
    }

    /// Nanoseconds between two rounds. Shorter than the shortest stall.
    private static let roundInterval: Int64 = 500_000_000
    /// Nanoseconds between two rounds while streams are open, which end soon after their tokens.
    private static let streamInterval: Int64 = 250_000_000

    /// Begins the rounds, and calls the handlers of passed deadlines from now on.
    func start() {
        wakesAt = .max
        scheduleRound(by: now)
    }

    func stop() {
        wakesAt = .min
        wakeUp?.cancel()
    }

    private func scheduleRound(by time: Int64) {
        roundAt = min(roundAt, time)
        scheduleWakeUp()
    }

    /// The event loop wakes up for the next round or deadline, and sleeps until then.
    private func scheduleWakeUp() {
        let time = min(roundAt, timers.dueAt)
        guard time < wakesAt else { return }
        wakesAt = time
        wakeUp?.cancel()
        wakeUp = eventLoop.assumeIsolated().scheduleTask(deadline: .uptimeNanoseconds(UInt64(time))) { self.wake() }
    }

    private func wake() {
        wakesAt = .min
        let now = now
        stalls.beat(at: .now)
        timers.advance(to: now)
        if roundAt <= now { doRound(now: now) }
        wakesAt = .max
        scheduleWakeUp()
    }

    private func doRound(now: Int64) {
        endStreamsWithoutValidToken()
        for pool in routes.pools.values { pool.sweep(now: now) }
        report()
        roundAt = now + (streams.isEmpty ? Self.roundInterval : Self.streamInterval)
    }

    private func endStreamsWithoutValidToken() {
        let now = wallClock
        for stream in Array(streams.values) { stream.endUnlessAccepted(now: now) }
    }

    /// Reports the counts that are kept here between two reports, so that requests do not pay for them.
    private func report() {
        routes.report()
        gateway.metrics.report(connections: gateway.openConnections.count)
    }

    // MARK: Connections

    /// A connection has set its deadline.
    func note(_ connection: any Timed) {
        timers.note(connection)
        scheduleWakeUp()
    }

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
        note(connection)
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
