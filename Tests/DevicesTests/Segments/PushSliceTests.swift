import Foundation
import GatehouseServiceContracts
import Testing

@testable import DevicesService

@Suite struct PushSliceTests {
    private static let accepted = DeviceResult.decided(DeliveryDecision(state: .accepted, isAttempt: true))
    private static let rejected = DeviceResult.decided(DeliveryDecision(state: .rejected, reason: "Unregistered"))
    private static let proven = DeviceResult.decided(
        DeliveryDecision(state: .accepted, isAttempt: true, registration: .accepted))

    private static func notSent(_ reason: NotSentReason) -> DeviceResult {
        .notSent(reason, DeliveryDecision(state: .queued, reason: reason.rawValue, dueAt: .distantFuture))
    }

    // MARK: - Progress

    @Test func acceptedDevicesAreOnlyCounted() {
        let progress = SliceProgress([Self.accepted, Self.accepted, Self.rejected, Self.proven])
        #expect(progress.devices == 4 && progress.accepted == 3 && progress.targets == 1)
        #expect(progress.outcomes.map(\.index) == [2, 3] && progress.obstacle == nil)
    }

    @Test func whatWasNotStartedIsReadAgain() {
        let progress = SliceProgress([Self.accepted, Self.accepted, .notStarted, .notStarted])
        #expect(progress.devices == 2 && progress.accepted == 2 && progress.outcomes.isEmpty)
        #expect(SliceProgress([.notStarted]).devices == 0 && SliceProgress([]).devices == 0)
    }

    /// Otherwise a device after it would receive the push twice.
    @Test func aDeviceThatWasNotSentToBeforeOneThatWasIsATarget() {
        let progress = SliceProgress([
            Self.accepted, Self.notSent(.tooLate), Self.accepted, Self.notSent(.tooLate), .notStarted,
        ])
        #expect(progress.devices == 3 && progress.accepted == 2 && progress.obstacle == nil)
        #expect(progress.outcomes.map(\.index) == [1] && progress.outcomes.map(\.decision.state) == [.queued])
    }

    /// Without a connection pool the slice waits, and no device gets a row.
    @Test func aSliceWaitsForItsConnectionPool() {
        let progress = SliceProgress([DeviceResult](repeating: Self.notSent(.noKey), count: 5))
        #expect(progress.devices == 0 && progress.outcomes.isEmpty && progress.obstacle == .noKey)
        // One environment's connection pool alone delays no others.
        let mixed = SliceProgress([Self.accepted, Self.notSent(.noKey), Self.accepted, Self.accepted])
        #expect(mixed.obstacle == nil && mixed.devices == 4 && mixed.targets == 1)
    }

    // MARK: - Turns

    private func slices(_ caller: String, _ push: UUID, _ count: Int16 = 4) -> [PushSlice] {
        (0..<count).map { PushSlice(caller: caller, push: push, number: $0) }
    }

    private func order(_ due: [PushSlice], _ count: Int) -> [UUID] {
        var turns = BulkTurns()
        return (0..<count).compactMap { _ in turns.next(among: due)?.push }
    }

    @Test func callersTakeTurnsWhateverTheyQueue() {
        let (first, second, other) = (UUID(), UUID(), UUID())
        let order = order(slices("a", first) + slices("a", second) + slices("b", other), 8)
        #expect(order.count { $0 == other } == 4)
        for index in order.indices.dropFirst() { #expect((order[index] == other) != (order[index - 1] == other)) }
        #expect(order.count { $0 == first } == 2 && order.count { $0 == second } == 2)
    }

    @Test func aNewPushHasItsTurnSoonAndNoMore() {
        let (old, new) = (UUID(), UUID())
        var turns = BulkTurns()
        for _ in 0..<100 { #expect(turns.next(among: slices("a", old))?.push == old) }
        let both = slices("a", old) + slices("a", new)
        #expect((0..<4).map { _ in turns.next(among: both)?.push } == [new, old, new, old])
    }

    @Test func nothingIsDue() {
        var turns = BulkTurns()
        #expect(turns.next(among: []) == nil)
    }
}
