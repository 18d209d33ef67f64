import Foundation
import GatehouseLimits
import ServiceLifecycle
import Synchronization
import TestKit
import Testing

@testable import IdentityCore

@Suite struct UnusedSessionsTests {
    private struct Broken: Error {}

    /// The calls so far, and whether they fail.
    private final class Peers: Sendable {
        struct State {
            var enqueued: [UUID] = []
            var revoked: [UUID] = []
            var failures = 0
            var isBroken = false
        }

        let state = Mutex(State())

        func sessions(firstPause: Duration = .milliseconds(1), log: CapturedLog = CapturedLog()) -> UnusedSessions {
            UnusedSessions(
                enqueue: { session in try self.call { $0.enqueued.append(session) } },
                revoke: { session in try self.call { $0.revoked.append(session) } }, firstPause: firstPause,
                logger: log.logger)
        }

        private func call(_ record: (inout State) -> Void) throws {
            try state.withLock { state in
                guard !state.isBroken else {
                    state.failures += 1
                    throw Broken()
                }
                record(&state)
            }
        }
    }

    private func withRunning(_ sessions: UnusedSessions, _ body: () async throws -> Void) async throws {
        let services = ServiceGroup(
            configuration: ServiceGroupConfiguration(services: [sessions], logger: CapturedLog().logger))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await services.run() }
            try await body()
            await services.triggerGracefulShutdown()
            try await group.waitForAll()
        }
    }

    @Test func aSessionThatMayBeCreatedLaterIsRevokedTwice() async throws {
        let (peers, id) = (Peers(), UUID())
        let sessions = peers.sessions()
        try await withRunning(sessions) {
            await sessions.revoke(id, exists: false)
            // The request does not wait for tokens.
            #expect(peers.state.withLock(\.enqueued) == [id])
            try await eventually("it is revoked") { peers.state.withLock(\.revoked) == [id] }
        }
    }

    @Test func aSessionThatExistsIsRevokedOnce() async throws {
        let (peers, id) = (Peers(), UUID())
        let sessions = peers.sessions()
        try await withRunning(sessions) { await sessions.revoke(id, exists: true) }
        #expect(peers.state.withLock(\.enqueued) == [] && peers.state.withLock(\.revoked) == [id])
    }

    @Test(arguments: [false, true])
    func theAnswerDoesNotWaitAndTheWorkGoesOn(exists: Bool) async throws {
        let (peers, id) = (Peers(), UUID())
        let sessions = peers.sessions()
        peers.state.withLock { $0.isBroken = true }
        try await withRunning(sessions) {
            // The request's time is over.
            await Deadline.with(.after(.zero)) { await sessions.revoke(id, exists: exists) }
            try await eventually("it was tried again") { peers.state.withLock { $0.failures } > 4 }
            peers.state.withLock { $0.isBroken = false }
            try await eventually("it is revoked") {
                peers.state.withLock { $0.revoked == [id] || $0.enqueued == [id] }
            }
        }
    }

    /// Both calls hang.
    @Test func aRequestReturnsAtItsDeadline() async throws {
        let done = Mutex(false)
        let sessions = UnusedSessions(
            enqueue: { _ in
                try? await gracefulShutdown()
                done.withLock { $0 = true }
            }, revoke: { _ in }, logger: CapturedLog().logger)
        try await withRunning(sessions) {
            await Deadline.with(.after(.milliseconds(100))) { await sessions.revoke(UUID(), exists: false) }
            #expect(!done.withLock { $0 })
        }
        // The end of the service waited for it.
        #expect(done.withLock { $0 })
    }

    @Test func theEndOfTheServiceWaitsForALastAttempt() async throws {
        let (peers, id, log) = (Peers(), UUID(), CapturedLog())
        let sessions = peers.sessions(firstPause: .seconds(3600), log: log)
        peers.state.withLock { $0.isBroken = true }
        try await withRunning(sessions) {
            await sessions.revoke(id, exists: true)
            peers.state.withLock { $0.isBroken = false }
        }
        #expect(peers.state.withLock(\.revoked) == [id])
        // Later ones are refused, and the log says so.
        await sessions.revoke(UUID(), exists: true)
        #expect(log.lines.last?.hasPrefix("error A session may not be revoked") == true)
    }
}
