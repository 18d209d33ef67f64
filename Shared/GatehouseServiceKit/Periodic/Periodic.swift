public import GatehouseLimits
import ServiceLifecycle

/// Repeats work for as long as a service runs, with a pause after each run.
///
///     await Periodic(every: .seconds(60)).run {
///         try await measure()
///         return .afterInterval
///     }
///
/// It ends when its task is cancelled, or when the service shuts down. Then the run in progress ends by itself, unless
/// `cancelWhenGracefulShutdown` cancels it.
public struct Periodic: Sendable {
    /// When the work runs again.
    public enum Next: Sendable, Equatable {
        case afterInterval
        case after(Duration)
        /// It does not run again.
        case never

        /// Without a pause.
        public static let now = Next.after(.zero)
    }

    private let interval: Duration
    private let backoff: Backoff
    private let wakeUps: Signal

    /// - Parameters:
    ///   - interval: the pause after a run that succeeded.
    ///   - backoff: the pauses after runs that failed; `nil`: the interval.
    public init(every interval: Duration, backoff: Backoff? = nil) {
        self.init(every: interval, backoff: backoff, wakeUps: Signal())
    }

    /// - Parameter wakeUps: each ends the pause after a run that succeeded. One that comes during a run counts.
    public init(every interval: Duration, backoff: Backoff? = nil, wakeUps: Signal) {
        self.interval = interval
        self.backoff = backoff ?? Backoff(base: interval, maximum: interval)
        self.wakeUps = wakeUps
    }

    /// Repeats `work`, and begins at once.
    ///
    /// - Parameters:
    ///   - work: returns when it runs again.
    ///   - onFailure: called with each error, unless the task was cancelled. `isFirst` is true after a run that
    ///     succeeded.
    public func run(
        _ work: () async throws -> Next,
        onFailure: (_ error: any Error, _ isFirst: Bool) async -> Void = { _, _ in }
    ) async {
        var failures = 0
        while !Task.isCancelled, !Task.isShuttingDownGracefully {
            let seen = wakeUps.count
            let next: Next
            do {
                next = try await work()
                failures = 0
            } catch {
                if Task.isCancelled { return }
                await onFailure(error, failures == 0)
                failures += 1
                try? await cancelWhenGracefulShutdown { [backoff, failures] in
                    try await Task.sleep(for: backoff.delay(afterFailures: failures))
                }
                continue
            }
            switch next {
            case .afterInterval: await wakeUps.wait(after: seen, until: .now + interval)
            case .after(let pause): if pause > .zero { await wakeUps.wait(after: seen, until: .now + pause) }
            case .never: return
            }
        }
    }
}
