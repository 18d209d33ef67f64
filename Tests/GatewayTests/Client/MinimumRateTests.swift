import Testing

@testable import GatewayService

@Suite("How fast a client takes its answers")
struct MinimumRateTests {
    /// A client that has to take 100 bytes in a second, and may pause for 10 s.
    private final class Client {
        private var minimumRate = MinimumRate(bytesPerSecond: 100, timeout: 10_000_000_000)

        var deadline: Int64 { minimumRate.deadline }

        func begin() { minimumRate.begin() }

        func update(isWaiting: Bool, taken: Int, at now: Int64) -> Bool {
            minimumRate.update(isWaiting: isWaiting, taken: taken, at: now)
        }
    }

    private static func seconds(_ seconds: Double) -> Int64 { Int64(seconds * 1e9) }

    @Test("A client that takes nothing has the whole time budget, which nothing uses up while no bytes wait")
    func silence() {
        let client = Client()
        #expect(client.deadline == .max)
        #expect(client.update(isWaiting: false, taken: 0, at: Self.seconds(1000)))
        #expect(client.deadline == .max)
        #expect(client.update(isWaiting: true, taken: 0, at: Self.seconds(5000)))
        #expect(client.deadline == Self.seconds(5010))
        #expect(client.update(isWaiting: true, taken: 0, at: Self.seconds(5004)))
        #expect(client.deadline == Self.seconds(5010))
        #expect(client.update(isWaiting: true, taken: 0, at: Self.seconds(5010) - 1))
        #expect(!client.update(isWaiting: true, taken: 0, at: Self.seconds(5010)))
    }

    @Test("The client takes bytes in any portions: it gains time, up to the full budget")
    func rate() {
        for portion in [1, 10, 99, 100, 500, 999, 1000, 1001, 5000] {
            let client = Client()
            var (taken, now, isFast) = (0, Int64(0), client.update(isWaiting: true, taken: 0, at: 0))
            for _ in 0..<100 where isFast {
                now += Self.seconds(Double(portion) / 100)
                // As a timer does.
                if client.deadline < now {
                    isFast = client.update(isWaiting: true, taken: taken, at: client.deadline)
                }
                taken += portion
                if isFast { isFast = client.update(isWaiting: true, taken: taken, at: now) }
            }
            #expect(isFast == (portion <= 1000), "\(portion)")
            #expect(!client.update(isWaiting: true, taken: taken, at: now + Self.seconds(10)), "haste is no store")
        }
        let fast = Client()
        #expect(fast.update(isWaiting: true, taken: 0, at: 0))
        #expect(fast.update(isWaiting: true, taken: .max, at: 1))
        #expect(fast.deadline == 1 + Self.seconds(10))
    }

    @Test("The client is a little slower than the minimum rate: its time runs out in the end")
    func tooSlow() {
        for portion in [1, 10, 99, 500] {
            let client = Client()
            var (taken, now, isFast) = (0, Int64(0), client.update(isWaiting: true, taken: 0, at: 0))
            while isFast, now < Self.seconds(100_000) {
                taken += portion
                now += Self.seconds(Double(portion) / 99)
                // What waits is gone for a moment each time.
                isFast = client.update(isWaiting: taken % 2 == 0, taken: taken, at: now)
                isFast = client.update(isWaiting: true, taken: taken, at: now) && isFast
            }
            #expect(!isFast)
        }
    }

    @Test("A new answer begins anew, unless the one before it still waits")
    func answers() {
        let client = Client()
        #expect(client.update(isWaiting: true, taken: 0, at: 0))
        client.begin()
        #expect(client.update(isWaiting: true, taken: 0, at: Self.seconds(9)))
        #expect(client.deadline == Self.seconds(10))
        #expect(client.update(isWaiting: false, taken: 1, at: Self.seconds(12)), "it has all")
        client.begin()
        #expect(client.update(isWaiting: true, taken: 1, at: Self.seconds(20)))
        #expect(client.deadline == Self.seconds(30))
    }
}
