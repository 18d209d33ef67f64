import Foundation
import Synchronization

@testable import GatehouseClient

/// Two clocks that stand still until a test moves them. A caller that sleeps wakes when they have moved far enough.
final class ManualClock: SessionClock {
    private struct State {
        var monotonic = Duration.seconds(1000)
        var wall = Date(timeIntervalSince1970: 1_800_000_000)
        var sleepers: [Int: (until: Duration, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var next = 0
        /// Who waits for a number of sleepers.
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
        /// Pauses that end at once: the time moves by itself.
        var isHasty = true
    }

    private let state = Mutex(State())

    var monotonic: Duration { state.withLock { $0.monotonic } }
    var wall: Date { state.withLock { $0.wall } }

    /// - Parameter hasty: whether a caller that sleeps moves the clock and goes on; otherwise it waits for `advance`.
    init(hasty: Bool = true) { state.withLock { $0.isHasty = hasty } }

    func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.monotonic += duration
            state.wall += duration / .seconds(1)
            let due = state.sleepers.filter { $0.value.until <= state.monotonic }
            for number in due.keys { state.sleepers[number] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in due { continuation.resume() }
        tellWatchers()
    }

    /// The user, or a mast, sets the device's clock.
    func jump(by seconds: TimeInterval) { state.withLock { $0.wall += seconds } }

    func sleep(for duration: Duration) async throws {
        try Task.checkCancellation()
        // In a hasty clock only short pauses pass by themselves.
        if state.withLock({ $0.isHasty }) && duration <= .seconds(10) {
            advance(by: duration)
            await Task.yield()
            return
        }
        try await sleep(until: monotonic + duration)
    }

    /// Time limits end when a test moves the clock.
    func sleep(until moment: Duration) async throws {
        try Task.checkCancellation()
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isOver = state.withLock { state in
                    state.sleepers[number] = (moment, continuation)
                    return state.monotonic >= moment
                }
                if Task.isCancelled { wake(number) } else { isOver ? advance(by: .zero) : tellWatchers() }
            }
        } onCancel: {
            wake(number)
        }
    }

    /// Returns as soon as so many sleep.
    func sleepers(_ count: Int) async {
        await withCheckedContinuation { continuation in
            state.withLock { $0.watchers.append((count, continuation)) }
            tellWatchers()
        }
    }

    private func wake(_ number: Int) {
        let sleeper = state.withLock { $0.sleepers.removeValue(forKey: number) }
        sleeper?.continuation.resume(throwing: CancellationError())
        tellWatchers()
    }

    private func tellWatchers() {
        let told = state.withLock { state in
            let told = state.watchers.filter { $0.count == state.sleepers.count }
            state.watchers.removeAll { $0.count == state.sleepers.count }
            return told.map(\.continuation)
        }
        for continuation in told { continuation.resume() }
    }
}
