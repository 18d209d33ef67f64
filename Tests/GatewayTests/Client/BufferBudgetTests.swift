import Testing

@testable import GatewayService

@Suite("The memory that bodies share")
struct BufferBudgetTests {
    @Test("Few have what they want, many share, and all together have little more than the limit")
    func sharing() {
        let limit = 4 << 20
        var budget = BufferBudget(BufferBudget.Shared(limit: limit))
        var held: [Int] = []
        for _ in 0..<5000 {
            // Each takes as much as it may, in reads of the usual size and of the small one.
            var mine = 0
            while mine < budget.allowance {
                let read = budget.isShort ? BufferBudget.least : BufferBudget.most
                mine += read
                budget.change(by: read)
            }
            held.append(mine)
        }
        #expect(held.prefix(50).allSatisfy { $0 == BufferBudget.most })
        #expect(held.suffix(1000).allSatisfy { $0 == BufferBudget.least })
        #expect(budget.waiting == held.reduce(0, +))
        #expect(budget.waiting <= limit + held.count * BufferBudget.least)
        for bytes in held { budget.change(by: -bytes) }
        #expect(budget.waiting == 0 && budget.allowance == BufferBudget.most && !budget.isShort)
    }

    @Test("What waits on one event loop leaves the others less, all but a small part of it at once")
    func loops() {
        let shared = BufferBudget.Shared(limit: 4 << 20)
        var (one, other) = (BufferBudget(shared), BufferBudget(shared))
        let small = (4 << 20) / 256
        one.change(by: small)
        #expect(other.waiting == 0 && one.waiting == small)
        one.change(by: 4 << 20)
        #expect(other.waiting == (4 << 20) + small && other.allowance == BufferBudget.least && other.isShort)
        other.change(by: 1)
        one.change(by: -(4 << 20) - small)
        #expect(one.waiting == 0 && other.waiting == 1 && !other.isShort)
    }
}
