import Foundation
import GatehouseServiceContracts
import Logging
import Postgres
import ServiceKitPostgres

/// The feed of outcomes for callers (`GET /internal/push/outcomes`): each final state of a push on a device but its
/// acceptance, at least once and for a week.
struct PushOutcomeFeed: Sendable {
    let sequencer: SequencedFeed
    private let pageSize: Int

    init(database: PostgresPool, pageSize: Int = 1000, logger: Logger) {
        sequencer = SequencedFeed(
            log: "push_outcome_log", function: "stamp_push_outcomes", database: database,
            interval: .milliseconds(500), sequencesAtOnce: false, logger: logger)
        self.pageSize = pageSize
    }

    /// The caller's outcomes after `cursor`. If there are none yet, it waits until `end` for some.
    ///
    /// - Parameter cursor: the cursor of an earlier page; `nil` or empty begins with the oldest entry,
    ///   ``SequencedFeed/latest`` at the end.
    func page(
        of caller: String, after cursor: String?, waitingUntil end: ContinuousClock.Instant
    ) async throws -> PushOutcomePage {
        let view = SequencedFeed.View(
            columns: "push_id, device_id, user_id, state, reason, occurred_at", condition: "caller = argument",
            argument: caller, pageSize: pageSize
        ) { try PushOutcomePage.Entry($0) }
        let page = try await sequencer.page(view, after: cursor, waitingUntil: end)
        return PushOutcomePage(
            entries: page.entries, cursor: page.cursor, reset: page.reset, more: page.more)
    }
}

extension PushOutcomePage.Entry {
    fileprivate init(_ row: PostgresRow) throws(PostgresError) {
        self.init(
            push: try row.decode("push_id"), device: try row.decode("device_id"), user: try row.decode("user_id"),
            state: PushTargetState(rawValue: try row.decode("state")), reason: try row.decode("reason"),
            at: try row.decode("occurred_at"))
    }
}
