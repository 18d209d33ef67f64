import Foundation
import GatehouseServiceContracts
import Synchronization

/// Asks tokens which sessions are live: one look-up for each device and idle lifetime.
///
/// While tokens does not answer, sessions count as live for a time, as they do without the revocation feed.
final class SessionLiveness: Sendable {
    enum Answer: Sendable {
        /// The sessions that are live, each with the time of its end, if tokens says so.
        case live(Set<UUID>, until: [UUID: Date])
        /// tokens has not answered. The sessions count as live.
        case unknown
        /// tokens has not answered for too long. Nothing may be sent.
        case overdue
    }

    /// Shorter than a claim stays fresh.
    static let timeout = Duration.milliseconds(300)
    /// After a failure, so that pushes do not wait for each of them.
    private static let pause = Duration.seconds(2)

    private let read: @Sendable ([UUID]) async throws -> LiveSessions
    private let maximumStaleness: Duration
    /// The first and the last failure since tokens has answered.
    private let failures = Mutex<(first: ContinuousClock.Instant, last: ContinuousClock.Instant)?>(nil)

    /// - Parameters:
    ///   - maximumStaleness: how long sessions count as live without an answer.
    ///   - read: asks about at most ``LiveSessions/most`` sessions.
    init(maximumStaleness: Duration, _ read: @escaping @Sendable ([UUID]) async throws -> LiveSessions) {
        self.maximumStaleness = maximumStaleness
        self.read = read
    }

    func check(_ sessions: Set<UUID>) async -> Answer {
        if let failures = failures.withLock(\.self), .now - failures.last < Self.pause { return answer(failures) }
        var live: Set<UUID> = []
        var expirations: [UUID: Date] = [:]
        var rest = Array(sessions)[...]
        do {
            while !rest.isEmpty {
                let answer = try await read(Array(rest.prefix(LiveSessions.most)))
                rest = rest.dropFirst(LiveSessions.most)
                live.formUnion(answer.ids)
                expirations.merge(answer.expirations ?? [:]) { $1 }
            }
        } catch {
            return answer(
                failures.withLock { failures in
                    let now = ContinuousClock.now
                    let all = (first: failures?.first ?? now, last: now)
                    failures = all
                    return all
                })
        }
        failures.withLock { $0 = nil }
        return .live(live, until: expirations)
    }

    private func answer(_ failures: (first: ContinuousClock.Instant, last: ContinuousClock.Instant)) -> Answer {
        .now - failures.first < maximumStaleness ? .unknown : .overdue
    }
}
