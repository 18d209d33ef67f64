import NIOCore
import Synchronization

/// Detects stalls of the whole process. It reads the clock on an event loop, because event loops read the sockets. A
/// task that runs late may only have waited for other tasks.
final class StallWatch: Sendable {
    /// Each wakes the process. Shorter than the shortest stall.
    static let interval = TimeAmount.milliseconds(500)

    private let record = Mutex(StallRecord())

    /// Watches until the returned task is cancelled.
    func start(on eventLoop: any EventLoop) -> RepeatedTask {
        eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: Self.interval) { _ in
            self.record.withLock { $0.beat(at: .now) }
        }
    }

    /// - Parameter openedAt: when the request's connection was accepted.
    func wait(
        ofReadAt instant: ContinuousClock.Instant, openedAt: ContinuousClock.Instant? = nil
    ) -> Duration {
        record.withLock { $0.wait(ofReadAt: instant, openedAt: openedAt) }
    }
}

/// The last stall of an event loop, for example because the process was stopped or the machine suspended. Requests
/// waited in the sockets, so they are older than the time of reading suggests.
public struct StallRecord: Sendable {
    public typealias Instant = ContinuousClock.Instant

    /// The shortest stall. A busy machine causes shorter delays.
    static let shortest = Duration.seconds(1)
    /// How long reading the waiting requests may take after a stall.
    static let backlog = Duration.seconds(1)
    /// How long accepting the connections may take that the system established during a stall.
    static let acceptance = Duration.milliseconds(100)

    private var lastBeat: Instant?
    private var lastStall: Range<Instant>?

    public init() {}

    /// Records a beat. The loop calls this twice a second, or more often.
    public mutating func beat(at now: Instant) {
        if let lastBeat, now - lastBeat > Self.shortest { lastStall = lastBeat..<now }
        lastBeat = now
    }

    /// How long a request that is read at `instant` may have waited; usually zero.
    ///
    /// - Parameter openedAt: when its connection was accepted, if that is known. A connection that was opened after the
    ///   stall carries no request from before its end.
    public func wait(ofReadAt instant: Instant, openedAt: Instant? = nil) -> Duration {
        if let lastStall, instant > lastStall.lowerBound, instant < lastStall.upperBound + Self.backlog {
            if let openedAt, openedAt > lastStall.upperBound + Self.acceptance { return .zero }
            return lastStall.lowerBound.duration(to: instant)
        }
        // The request was read before the first beat after a stall.
        if let lastBeat, instant - lastBeat > Self.shortest { return lastBeat.duration(to: instant) }
        return .zero
    }
}

/// When the heads of a connection's requests were read, in order.
///
/// The event loop reads a head, and a task serves the request. On a busy machine the request may wait seconds in
/// between, and a task that read the clock itself would treat an old request as new. Hummingbird passes only the head
/// to the task, but serves a connection's requests one after another in one task.
final class ArrivalTimes: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The times of the connection that the current task serves.
    @TaskLocal static var ofConnection: ArrivalTimes?

    /// When the connection was accepted.
    let openedAt = Instant.now
    private let waiting = Mutex<[Instant]>([])

    /// Records that the event loop has read a head.
    func note(_ instant: Instant) {
        waiting.withLock { $0.append(instant) }
    }

    /// The arrival time of the next request, which the task begins to serve.
    func next() -> Instant? {
        waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }
}
