import ServiceLifecycle
import Synchronization

/// Counts events, and lets tasks wait for the next one. ``Periodic`` ends its pauses by it.
public final class Signal: Sendable {
    private struct State {
        var count = 0
        var lastWaiter = 0
        var waiters: [Int: AsyncStream<Void>.Continuation] = [:]
    }

    private let state = Mutex(State())

    public init() {}

    /// The number of events so far.
    public var count: Int { state.withLock { $0.count } }

    /// Counts an event, and wakes all tasks that wait.
    public func send() {
        let waiters = state.withLock { state in
            state.count += 1
            return state.waiters.values
        }
        for waiter in waiters { waiter.finish() }
    }

    /// Waits for an event after the first `count`, until `end` at most. Returns early when the task is cancelled or the
    /// service shuts down.
    public func wait(after count: Int, until end: ContinuousClock.Instant) async {
        let (event, waiter) = AsyncStream<Void>.makeStream()
        let id = state.withLock { state -> Int? in
            guard state.count == count else { return nil }
            state.lastWaiter += 1
            state.waiters[state.lastWaiter] = waiter
            return state.lastWaiter
        }
        guard let id else { return }
        defer { state.withLock { _ = $0.waiters.removeValue(forKey: id) } }
        await withGracefulShutdownHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { for await _ in event {} }
                group.addTask { try? await Task.sleep(until: end) }
                await group.next()
                group.cancelAll()
            }
        } onGracefulShutdown: {
            waiter.finish()
        }
    }
}
