import NIOCore
import Synchronization

/// Notices when this process as a whole stood still. It looks at the clock from an event loop, which reads the sockets;
/// a task that runs late may only have waited for other tasks.
final class StallWatch: Sendable {
    static let interval = TimeAmount.milliseconds(200)

    private let record = Mutex(StallRecord())

    /// Watches until the answer is cancelled.
    func start(on eventLoop: any EventLoop) -> RepeatedTask {
        eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: Self.interval) { _ in
            self.record.withLock { $0.beat(at: .now) }
        }
    }

    func wait(ofReadAt instant: ContinuousClock.Instant) -> Duration {
        record.withLock { $0.wait(ofReadAt: instant) }
    }
}

/// When an event loop stood still: its process was stopped, say, or its machine suspended. Requests went on waiting in
/// its sockets, and when they are read at last they are older than they look.
public struct StallRecord: Sendable {
    public typealias Instant = ContinuousClock.Instant

    /// A shorter delay is what a busy machine causes.
    static let shortest = Duration.seconds(1)
    /// How long it may take to read what has waited.
    static let backlog = Duration.seconds(1)

    private var lastBeat: Instant?
    private var lastStall: Range<Instant>?

    public init() {}

    /// The loop looks at the clock, as it does several times a second.
    public mutating func beat(at now: Instant) {
        if let lastBeat, now - lastBeat > Self.shortest { lastStall = lastBeat..<now }
        lastBeat = now
    }

    /// For how long a request that is read at `instant` may have waited; zero in most cases.
    public func wait(ofReadAt instant: Instant) -> Duration {
        if let lastStall, instant > lastStall.lowerBound, instant < lastStall.upperBound + Self.backlog {
            return lastStall.lowerBound.duration(to: instant)
        }
        // Read before the first beat after a stall.
        if let lastBeat, instant - lastBeat > Self.shortest { return lastBeat.duration(to: instant) }
        return .zero
    }
}

/// When the heads of a connection's requests were read, in order.
///
/// The event loop reads a head, and a task serves the request. Between them lies a queue that is seconds long on a
/// busy machine: a task that asked for the time itself would take an old request for a new one. Hummingbird hands a head
/// from one to the other with nothing beside it, but serves a connection's requests one after another in one task.
final class ArrivalTimes: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Those of the connection whose task this is.
    @TaskLocal static var ofConnection: ArrivalTimes?

    private let waiting = Mutex<[Instant]>([])

    /// The event loop has read a head.
    func note(_ instant: Instant) {
        waiting.withLock { $0.append(instant) }
    }

    /// The task begins with the next request.
    func next() -> Instant? {
        waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }
}
