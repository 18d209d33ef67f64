import Foundation
import Logging
import ServiceLifecycle

/// Removes what has ended, in the background, a batch at a time. Every replica may run one: they pass over rows that
/// another holds.
struct Purger: Service {
    let store: SessionStore
    /// Seconds that the feed keeps its entries.
    let revocationRetention: TimeInterval
    let logger: Logger
    var batch = 500
    var pause: Duration = .seconds(5)

    /// Seconds that audit events are kept: two years.
    static let auditRetention: TimeInterval = 63_072_000

    func run() async {
        await cancelWhenGracefulShutdown {
            var position = Position()
            while !Task.isCancelled {
                do {
                    try await step(&position)
                } catch {
                    logger.debug("A purge failed; it is tried again.", metadata: ["error": "\(error)"])
                }
                try? await Task.sleep(for: pause)
            }
        }
    }

    /// Where the sweeps are.
    struct Position: Sendable, Equatable {
        var session: UUID?
        var user: UUID?
    }

    func step(_ position: inout Position) async throws {
        let sessions = try await store.purgeSessions(after: position.session, batch: batch)
        position.session = sessions.next
        let users = try await store.purgeUsers(after: position.user, batch: batch)
        position.user = users.next
        let entries = try await store.purgeRevocations(retention: revocationRetention, batch: batch)
        let events = try await store.purgeAuditEvents(retention: Self.auditRetention, batch: batch)
        guard sessions.removed + users.removed + entries + events > 0 else { return }
        logger.debug(
            "Purged.",
            metadata: [
                "sessions": "\(sessions.removed)", "users": "\(users.removed)", "revocations": "\(entries)",
                "events": "\(events)",
            ])
    }
}
