import Foundation
import GatehouseLimits
import GatehouseServiceKit
import Logging
import ServiceLifecycle
import Synchronization

/// Revokes sessions that were issued to no client.
///
/// A request waits for that no longer than until its own deadline. The work continues after its answer, and while the
/// service shuts down. While neither tokens nor PostgreSQL is available, it is repeated for about a minute.
package final class UnusedSessions: Service, Sendable {
    private struct Job: Sendable {
        var session: UUID
        /// Whether tokens has answered that the session exists. Otherwise the request that creates it may still be in
        /// progress.
        var exists: Bool
        let startedAt = ContinuousClock.now
        let attempted = Signal()
    }

    /// Sessions that wait to be revoked, at the most.
    static let limit = 1000
    private static let attempts = 10
    private static let longestPause = Duration.seconds(15)
    /// When a request that creates a session has ended, however slow it was.
    private static let longestCreation = Duration.seconds(OutboxStore.claimLifetime)
    /// The part of a request's time that is left for its answer.
    private static let answerTime = Duration.milliseconds(50)

    private let jobs = AsyncStream<Job>.makeStream()
    private let pending = Mutex(0)
    private let enqueue: @Sendable (_ session: UUID) async throws -> Void
    private let revoke: @Sendable (_ session: UUID) async throws -> Void
    private let firstPause: Duration
    private let logger: Logger

    /// - Parameters:
    ///   - enqueue: adds the outbox's task that revokes the session.
    ///   - revoke: has tokens revoke the session, if it exists.
    ///   - firstPause: between the first two attempts; it doubles from one attempt to the next.
    init(
        enqueue: @escaping @Sendable (_ session: UUID) async throws -> Void,
        revoke: @escaping @Sendable (_ session: UUID) async throws -> Void,
        firstPause: Duration = .milliseconds(250), logger: Logger
    ) {
        self.enqueue = enqueue
        self.revoke = revoke
        self.firstPause = firstPause
        self.logger = logger
    }

    /// Ends when the service shuts down and each session's last attempt has ended.
    func run() async throws {
        await withDiscardingTaskGroup { group in
            group.addTask {
                try? await gracefulShutdown()
                self.jobs.continuation.finish()
            }
            for await job in jobs.stream {
                group.addTask {
                    await self.carryOut(job)
                    self.pending.withLock { $0 -= 1 }
                }
            }
        }
    }

    /// Revokes the session, or has the outbox do so. Returns after the first attempt, or shortly before the current
    /// deadline.
    /// - Parameter exists: whether tokens has answered that the session exists. Otherwise it is revoked at once, and
    ///   again by the outbox when the request that creates it must have ended.
    func revoke(_ session: UUID, exists: Bool) async {
        let hasRoom = pending.withLock { pending in
            guard pending < Self.limit else { return false }
            pending += 1
            return true
        }
        let job = Job(session: session, exists: exists)
        guard hasRoom, case .enqueued = jobs.continuation.yield(job) else {
            logger.error("A session may not be revoked: too many wait, or the service has ended")
            return
        }
        let end = Deadline.current.map { $0.instant - Self.answerTime } ?? .now + Self.longestCreation
        await job.attempted.wait(after: 0, until: end)
    }

    private func carryOut(_ job: Job) async {
        var pause = firstPause
        for attempt in 1...Self.attempts {
            let isLast = attempt == Self.attempts || Task.isCancelled || Task.isShuttingDownGracefully
            do {
                return try await self.attempt(job)
            } catch {
                job.attempted.send()
                if isLast {
                    return logger.error("A session may not be revoked", metadata: ["error": "\(error)"])
                }
                logger.warning("A session could not be revoked yet", metadata: ["error": "\(error)"])
            }
            // The end of the service begins the last attempt at once.
            try? await cancelWhenGracefulShutdown { [pause] in try await Task.sleep(for: pause) }
            pause = min(pause * 2, Self.longestPause)
        }
    }

    /// - Throws: what PostgreSQL's or tokens' failure throws. The session may then remain.
    private func attempt(_ job: Job) async throws {
        defer { job.attempted.send() }
        if job.exists {
            do {
                return try await revoke(job.session)
            } catch {
                logger.warning("A session could not be revoked yet", metadata: ["error": "\(error)"])
                return try await enqueue(job.session)
            }
        }
        // At once, also while PostgreSQL hangs.
        async let revocation: Void = revoke(job.session)
        do {
            try await enqueue(job.session)
            job.attempted.send()
            // The outbox repeats it.
            try? await revocation
        } catch {
            try await revocation
            // Revoking a session before it is created has no effect on it.
            guard ContinuousClock.now - job.startedAt > Self.longestCreation else { throw error }
        }
    }
}
