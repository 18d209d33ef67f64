import Foundation
import GatehouseServiceContracts
import Postgres
import ServiceKitPostgres
import Synchronization

/// Adds the targets of pushes whose time has come, and of those that name more devices than one statement may add.
///
/// Each step is one transaction. It adds some targets and moves the push's cursor, so a step that dies is repeated as a
/// whole, by any replica. A push that is cancelled gets no further step.
final class PushStarter: Sendable {
    /// What a step has done.
    enum Step: Sendable, Equatable {
        /// Targets may be due.
        case added
        /// Another replica is at the push, or it was cancelled.
        case busy
        /// No push can be started now.
        case nothingDue
    }

    /// A step that failed. The push waits, and others go on.
    struct StepFailure: Error {
        let push: UUID
        let cause: any Error
    }

    /// Pushes that are read at once of each caller and urgency: more than other replicas are at.
    private static let pageSize = 8

    let database: PostgresPool
    private let turns = Mutex(StartTurns())

    init(database: PostgresPool) {
        self.database = database
    }

    /// Does a step of the push whose turn it is.
    ///
    /// - Throws: ``StepFailure``; another error if the pushes could not be read.
    func step() async throws -> Step {
        let postponed = turns.withLock { $0.postponed(at: .now) }
        let due = try await due(besides: postponed)
        guard let push = turns.withLock({ $0.next(among: due) }) else { return .nothingDue }
        do {
            let isFound =
                push.isSegment
                ? try await startSegment(push.id)
                : try await Self.addRecipients(
                    of: push.id, devices: turns.withLock { $0.devices(of: push.id) }, on: database
                ).isFound
            guard isFound else {
                turns.withLock { $0.isBusy(push.id, at: .now) }
                return .busy
            }
            turns.withLock { $0.succeeded(push.id) }
            return .added
        } catch {
            turns.withLock { $0.failed(push.id, at: .now) }
            throw StepFailure(push: push.id, cause: error)
        }
    }

    private func due(besides postponed: [UUID]) async throws(PostgresError) -> [DuePush] {
        try await database.query(
            """
            SELECT of_caller, of_urgency, of_push, is_segment
            FROM due_pushes(\(PushUrgency.allCases.map(\.rawValue)), \(postponed), \(Self.pageSize))
            """
        ).decode((String, String, UUID, Bool).self).compactMap { caller, urgency, push, isSegment in
            PushUrgency(rawValue: urgency).map {
                DuePush(id: push, caller: caller, urgency: $0, isSegment: isSegment)
            }
        }
    }

    private func startSegment(_ push: UUID) async throws -> Bool {
        try await database.withTransaction { transaction in
            let found = try await transaction.query(
                "SELECT id FROM pushes WHERE id = \(push) AND state = 'scheduled' FOR UPDATE SKIP LOCKED")
            guard !found.isEmpty else { return false }
            try await PushSliceStore.addSlices(of: push, on: transaction)
            _ = try await transaction.commit(after: "UPDATE pushes SET state = 'sending' WHERE id = \(push)")
            return true
        }
    }

    /// Adds the targets of the next recipients of a push that has none or some.
    ///
    /// - Parameter devices: that they may have.
    /// - Returns: whether the push was found, and the number of devices. A device that is named and not registered
    ///   counts, too.
    static func addRecipients(
        of push: UUID, devices: Int = StartRules.devicesAtOnce, on database: some PostgresQuerying
    ) async throws(PostgresError) -> (isFound: Bool, devices: Int) {
        try await database.query(
            """
            SELECT is_found, added FROM add_push_recipients(
                \(push), \(Int32(devices)), \(Int32(RegistrationStore.maximumDevices)),
                \(Int32(StartRules.unknownDevices)), \(StartRules.interval))
            """
        )[0].decode((Bool, Int).self)
    }
}
