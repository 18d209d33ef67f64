import Synchronization
import Testing

@testable import GatewayService

@Suite("Permits in order of arrival")
struct PermitQueueTests {
    /// All that can happen to a queue, against a list.
    @Test("Whatever happens in whatever order, the one that waits longest is next, and no permit is lost")
    func exhaustive() {
        enum Step: CaseIterable {
            case arrive
            case leave
            case firstGivesUp
            case lastGivesUp
        }
        let length = 8
        for limit in 1...2 {
            for number in 0..<(1 << (2 * length)) {
                var queue = PermitQueue<Int>(limit: limit)
                var (taken, waiting, arrivals) = (0, [(ticket: Int, waiter: Int)](), 0)
                for index in 0..<length {
                    switch Step.allCases[number >> (2 * index) & 3] {
                    case .arrive:
                        arrivals += 1
                        if queue.take() {
                            #expect(waiting.isEmpty && taken < limit)
                            taken += 1
                        } else {
                            #expect(taken == limit)
                            waiting.append((queue.wait(arrivals), arrivals))
                        }
                    case .leave:
                        guard taken > 0 else { continue }
                        let next = queue.release()
                        if waiting.isEmpty {
                            taken -= 1
                            #expect(next == nil)
                        } else {
                            let expected = waiting.removeFirst()
                            #expect(next?.waiter == expected.waiter && next?.ticket == expected.ticket)
                            // The permit is its own, and it can give up no more.
                            let gaveUp = queue.giveUp(expected.ticket)
                            #expect(!gaveUp)
                        }
                    case .firstGivesUp, .lastGivesUp:
                        guard !waiting.isEmpty else { continue }
                        let isFirst = Step.allCases[number >> (2 * index) & 3] == .firstGivesUp
                        let leaving = isFirst ? waiting.removeFirst() : waiting.removeLast()
                        let gaveUp = queue.giveUp(leaving.ticket)
                        #expect(gaveUp)
                    }
                    #expect(queue.taken == taken && queue.count == waiting.count)
                }
            }
        }
    }

    @Test("A permit that became free between two calls goes to the waiter at once")
    func between() {
        let permits = OrderedPermits(limit: 1)
        #expect(permits.take() && !permits.take())
        permits.release()
        let woken = Mutex<[Int]>([])
        let first = permits.wait { ticket in woken.withLock { $0.append(ticket) } }
        #expect(woken.withLock { $0 } == [first] && !permits.take())
        let second = permits.wait { ticket in woken.withLock { $0.append(ticket) } }
        #expect(woken.withLock { $0 } == [first] && !permits.giveUp(first))
        permits.release()
        #expect(woken.withLock { $0 } == [first, second])
        permits.release()
        #expect(permits.take())
    }
}
