import Foundation
import GatehouseServiceContracts
import Testing

@testable import DevicesService

@Suite struct FairQueueTests {
    private func target(_ push: UUID) -> PushTarget {
        PushTarget(bucket: Bucket(user: UUID()), push: push, device: UUID())
    }

    private func queue(_ entries: [(caller: String, urgency: PushUrgency, push: UUID, count: Int)]) -> FairQueue {
        var queue = FairQueue()
        for entry in entries {
            for _ in 0..<entry.count { queue.add(target(entry.push), of: entry.caller, urgency: entry.urgency) }
        }
        return queue
    }

    @Test func urgentComesBeforeNormalBeforeBulk() {
        let (bulk, normal, urgent) = (UUID(), UUID(), UUID())
        var queue = queue([("a", .bulk, bulk, 2), ("b", .normal, normal, 1), ("c", .urgent, urgent, 2)])
        #expect(queue.count == 5)
        #expect(queue.take(3).map(\.push) == [urgent, urgent, normal])
        queue.add(target(urgent), of: "a", urgency: .urgent)
        #expect(queue.take(9).map(\.push) == [urgent, bulk, bulk])
        #expect(queue.isEmpty && queue.take(1).isEmpty)
    }

    @Test func callersTakeTurnsWhateverTheyQueue() {
        let (large, small) = (UUID(), UUID())
        var queue = queue([("a", .normal, large, 1000), ("b", .normal, small, 2)])
        #expect(queue.take(6).map(\.push) == [large, small, large, small, large, large])
        #expect(queue.count == 996)
    }

    @Test func pushesOfACallerTakeTurns() {
        let (large, small, other) = (UUID(), UUID(), UUID())
        var queue = queue([("a", .normal, large, 9), ("a", .normal, small, 1), ("b", .normal, other, 2)])
        #expect(queue.take(7).map(\.push) == [large, other, small, other, large, large, large])
    }

    @Test func targetsOfAPushKeepTheirOrder() {
        let push = UUID()
        let targets = (0..<50).map { _ in target(push) }
        var queue = FairQueue()
        for target in targets { queue.add(target, of: "a", urgency: .normal) }
        #expect(queue.take(20) + queue.take(40) == targets)
    }
}
