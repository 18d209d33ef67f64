import Contracts
import Foundation

/// What a replica of one of Gatehouse's services said of itself when it was asked last.
struct ReplicaStatus: Encodable, Equatable, Sendable {
    enum State: String, Encodable {
        case ready
        /// It says so itself.
        case notReady
        /// It gave no answer, or one that no service of Gatehouse gives.
        case unreachable
    }

    /// identity, tokens or devices.
    var service: String
    var address: String
    var state = State.unreachable
    /// What it needs and has not, while it is not ready.
    var failing: [String] = []
    /// As it said when it was last ready; `nil`: it has not yet said so to this gateway.
    var version: String?
    var revision: String?
    var startedAt: Date?
    /// When it was last ready; `nil`: never since this gateway asks.
    var readyAt: Date?
    /// How long its last answer took.
    var milliseconds: Double?

    /// Longest text that is taken over from an answer, in UTF-8 bytes.
    private static let longest = 64

    /// The status after another answer.
    ///
    /// - Parameters:
    ///   - answer: `nil`: there was none.
    ///   - time: when it came.
    func after(_ answer: (status: Int, body: Data)?, at time: Date, milliseconds: Double) -> ReplicaStatus {
        var next = self
        next.failing = []
        next.state = .unreachable
        next.milliseconds = nil
        guard let answer else { return next }
        switch answer.status {
        case 200:
            guard let health = try? JSON.decode(ServiceHealth.self, from: answer.body) else { return next }
            next.state = .ready
            next.version = health.version.flatMap(Self.bounded)
            next.revision = health.revision.flatMap(Self.bounded)
            next.startedAt = health.startedAt
            next.readyAt = time
        case 503:
            guard let problem = try? JSON.decode(ProblemDocument.self, from: answer.body) else { return next }
            next.state = .notReady
            next.failing = (problem.errors ?? []).prefix(8).compactMap { Self.bounded($0.field) }
        default: return next
        }
        next.milliseconds = milliseconds
        return next
    }

    private static func bounded(_ text: String) -> String? { text.utf8.count <= longest ? text : nil }
}
