public import Foundation

/// The two clocks that a session reads, so that tests can move them.
public protocol SessionClock: Sendable {
    /// Time since some moment, also while the device sleeps. It never jumps and no user sets it.
    var monotonic: Duration { get }

    /// What the device shows: it may be wrong by days and may jump.
    var wall: Date { get }

    func sleep(for duration: Duration) async throws
}

/// The system's own clocks.
public struct SystemClock: SessionClock {
    private static let start = ContinuousClock.now

    public init() {}

    public var monotonic: Duration { ContinuousClock.now - Self.start }

    public var wall: Date { Date() }

    public func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}
