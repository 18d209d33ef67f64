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
