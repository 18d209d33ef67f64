import Contracts
import Foundation
import Synchronization

/// Asks tokens which sessions are live: one look-up for each device and idle lifetime.
///
/// While tokens does not answer, sessions count as live. The revocation feed is not read then either, so that all
/// sending stops after ``PushSender/Limits/maximumStaleness``.
final class SessionLiveness: Sendable {
    enum Answer: Sendable {
        /// The sessions that are live, each with the time of its end, if tokens says so.
        case live(Set<UUID>, until: [UUID: Date])
        case unknown
    }

    /// Shorter than a claim stays fresh.
    static let timeout = Duration.milliseconds(300)
    /// After a failure, so that pushes do not wait for each of them.
    private static let pause = Duration.seconds(2)

    private let read: @Sendable ([UUID]) async throws -> LiveSessions
    private let failedAt = Mutex<ContinuousClock.Instant?>(nil)

    /// - Parameter read: asks about at most ``LiveSessions/most`` sessions.
    init(_ read: @escaping @Sendable ([UUID]) async throws -> LiveSessions) {
        self.read = read
    }

    func check(_ sessions: Set<UUID>) async -> Answer {
        if failedAt.withLock({ $0.map { .now - $0 < Self.pause } ?? false }) { return .unknown }
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
            failedAt.withLock { $0 = .now }
            return .unknown
        }
        return .live(live, until: expirations)
    }
}
