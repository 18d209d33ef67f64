import Testing

@testable import GatewayService

@Suite("Into how many pieces a client may cut bodies")
struct PieceBudgetTests {
    /// Frames of so many bytes that pass at once.
    private func passing(_ bytes: Int, of count: Int, _ budget: inout PieceBudget, at now: Int64 = 0) -> Int {
        for number in 0..<count where !budget.take(bytes: bytes, now: now) { return number }
        return count
    }

    @Test("A thousand without any bytes, and no end to those that are worth it")
    func bytes() {
        var budget = PieceBudget(bytesPerPiece: PieceBudget.bytesPerFrame, now: 0)
        let empty = passing(0, of: 5000, &budget)
        #expect(empty == PieceBudget.most)
        budget = PieceBudget(bytesPerPiece: PieceBudget.bytesPerFrame, now: 0)
        let full = passing(PieceBudget.bytesPerFrame, of: 100_000, &budget)
        #expect(full == 100_000)
        // What many bytes earn is not kept beyond the beginning's store.
        let passes = budget.take(bytes: 1 << 30, now: 0)
        let further = passing(0, of: 5000, &budget)
        #expect(passes && further == PieceBudget.most)
    }

    @Test("A steady rate of small messages goes on for ever, and time alone earns no more than the store")
    func time() {
        var budget = PieceBudget(bytesPerPiece: PieceBudget.bytesPerFrame, now: 0)
        let interval = 1_000_000_000 / Int64(PieceBudget.piecesPerSecond)
        var passed = 0
        for number in 1...100_000 where budget.take(bytes: 0, now: Int64(number) * interval) { passed += 1 }
        #expect(passed == 100_000)
        budget = PieceBudget(bytesPerPiece: PieceBudget.bytesPerFrame, now: 0)
        let atOnce = passing(0, of: 5000, &budget, at: .max)
        #expect(atOnce <= 2 * PieceBudget.most)
    }

    @Test("Small requests may be as many as they like: each earns its two frames")
    func smallRequests() {
        var budget = PieceBudget(bytesPerPiece: PieceBudget.bytesPerFrame, now: 0)
        for _ in 0..<100_000 {
            budget.beginRequest()
            guard budget.take(bytes: 100, now: 0), budget.take(bytes: 0, now: 0) else {
                Issue.record("refused")
                return
            }
        }
        // A request earns no store beyond the beginning's.
        budget = PieceBudget(bytesPerPiece: PieceBudget.bytesPerFrame, now: 0)
        for _ in 0..<1000 { budget.beginRequest() }
        let further = passing(0, of: 5000, &budget)
        #expect(further == PieceBudget.most)
    }

    @Test("Chunks that come together count one by one, and those of eight bytes cost nothing")
    func chunks() {
        var budget = PieceBudget(bytesPerPiece: PieceBudget.bytesPerChunk, now: 0)
        for _ in 0..<100 {
            let passes = budget.take(10_000, bytes: 80_000, now: 0)
            #expect(passes)
        }
        // The store, and one in eight by its byte.
        let most = PieceBudget.most * 8 / 7
        let passes = budget.take(most, bytes: most, now: 0)
        let passesFurther = budget.take(10, bytes: 10, now: 0)
        #expect(passes && !passesFurther)
    }
}
