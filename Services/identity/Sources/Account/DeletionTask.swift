import Contracts
import Foundation
import Postgres

/// The steps of a deletion after the account's rows are gone from this service's database, in their order.
///
/// Each step is idempotent, so a crash between performing and recording it is harmless. Sessions are revoked a second
/// time: a sign-in that was interrupted between creating its session and revoking it leaves one behind.
enum DeletionStep: String, Codable, Sendable, CaseIterable {
    case revokeSessions
    case eraseDevices
    case sweepSessions

    var next: DeletionStep? {
        let all = Self.allCases
        let index = all.firstIndex(of: self)! + 1
        return index < all.count ? all[index] : nil
    }
}

struct DeletionTask: OutboxPayload {
    static let kind = "deletion"
    static let key = "deletion"

    var step: DeletionStep

    enum CodingKeys: String, CodingKey { case step = "_0" }
}

extension OutboxTask {
    /// Notifies the other services of the user's deletion, step by step.
    static func deletion(_ step: DeletionStep) -> OutboxTask {
        OutboxTask(DeletionTask(step: step), for: step == .eraseDevices ? .devices : .tokens)
    }
}

/// Carries out the steps of deletions, as a task of the outbox.
struct DeletionDelivery: Sendable {
    let tokens: TokensClient
    let devices: DevicesClient

    var handlers: [OutboxHandler] {
        [
            OutboxHandler(DeletionTask.self, for: .tokens, .devices) { task, entry in
                if let userID = entry.userID { try await carryOut(task.step, of: userID) }
                return task.step.next.map { .next(.deletion($0), about: entry.userID) } ?? .done
            }
        ]
    }

    private func carryOut(_ step: DeletionStep, of userID: UUID) async throws {
        switch step {
        case .revokeSessions, .sweepSessions:
            try await tokens.revokeSessions(of: userID, RevokeSessionsRequest(reason: .accountDeleted))
        case .eraseDevices:
            try await devices.erase(userID)
        }
    }
}

extension OutboxStore {
    /// The task of the user's deletion, if it is still in progress.
    static func deletion(of userID: UUID, on database: some PostgresQuerying) async throws -> OutboxEntry? {
        try await latest(DeletionTask.self, of: userID, on: database)
    }
}

extension OutboxDelivery {
    /// Carries out the first step of a deletion, which the user waits for. The outbox carries out the others.
    func begin(deletion entry: OutboxEntry) async throws {
        guard try entry.payload(DeletionTask.self).step == .revokeSessions else { return }
        try await deliver(entry)
    }
}
