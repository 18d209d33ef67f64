import GatehouseLimits
import GatehouseServiceKit
import ServiceLifecycle
import Synchronization
import TestKit
import Testing

@Suite("Work that repeats")
struct PeriodicTests {
    private struct Failure: Error {}

    /// Long enough that a test which waits for it fails.
    private static let never = Duration.seconds(3600)

    @Test("It begins at once, repeats without a pause where the work says so, and ends where it says so")
    func repeats() async {
        var runs = 0
        await Periodic(every: Self.never).run {
            runs += 1
            return runs < 5 ? .now : .never
        }
        #expect(runs == 5)
    }

    @Test("Failures: each is reported, the first of a row as such, and the pauses grow to their maximum")
    func failures() async {
        var runs = 0
        var reports: [Bool] = []
        await Periodic(every: Self.never, backoff: Backoff(base: .milliseconds(1), maximum: .milliseconds(2))).run {
            runs += 1
            if runs == 7 { return .never }
            if runs == 4 { return .now }
            throw Failure()
        } onFailure: { error, isFirst in
            #expect(error is Failure)
            reports.append(isFirst)
        }
        #expect(reports == [true, false, false, true, false])
    }

    @Test("A wake-up ends the pause, also one that comes during a run")
    func wakeUps() async throws {
        let wakeUps = Signal()
        let runs = Mutex(0)
        let task = Task {
            await Periodic(every: Self.never, wakeUps: wakeUps).run {
                let run = runs.withLock { runs in
                    runs += 1
                    return runs
                }
                if run == 1 { wakeUps.send() }
                return .afterInterval
            }
        }
        try await eventually("the first run has woken the second") { runs.withLock(\.self) == 2 }
        for run in 3...5 {
            wakeUps.send()
            try await eventually("it has run again") { runs.withLock(\.self) == run }
        }
        task.cancel()
        await task.value
    }

    @Test("Cancellation and a shutdown end a pause, after a success or a failure", arguments: [false, true])
    func ends(fails: Bool) async throws {
        let periodic = Periodic(every: Self.never, backoff: Backoff(base: Self.never, maximum: Self.never))
        let runs = Mutex(0)
        @Sendable func run() async {
            await periodic.run {
                runs.withLock { $0 += 1 }
                if fails { throw Failure() }
                return .afterInterval
            }
        }
        let cancelled = Task { await run() }
        try await eventually("it runs") { runs.withLock(\.self) == 1 }
        cancelled.cancel()
        await cancelled.value
        let group = ServiceGroup(
            configuration: .init(services: [.init(service: Work(body: run))], logger: .quiet))
        let service = Task { try await group.run() }
        try await eventually("it runs as a service") { runs.withLock(\.self) == 2 }
        await group.triggerGracefulShutdown()
        _ = await service.result
        #expect(runs.withLock(\.self) == 2)
    }

    private struct Work: Service {
        let body: @Sendable () async -> Void

        func run() async { await body() }
    }
}
