import Testing

@testable import IdentityCredentials

@Suite struct HashQueueRulesTests {
    private typealias Queue = HashQueueRules<Int>
    private static let start = ContinuousClock.now

    private func at(_ milliseconds: Int) -> ContinuousClock.Instant { Self.start + .milliseconds(milliseconds) }

    private func started(_ effects: Queue.Effects) -> [Int] { effects.started.map(\.request) }

    @Test func oneBehindWhichNoneWaitsIsHashedAtTheUsualPriority() {
        for threads in 1...4 {
            var queue = Queue(threads: threads, permits: 8)
            // However many are hashed one after the other.
            for turn in 0..<5 {
                #expect(queue.admit(turn, at: at(turn), until: at(turn + 1)).started.map(\.priority) == [.usual])
                _ = queue.ended(.usual, after: .milliseconds(1), at: at(turn))
            }
            // The others that are hashed at the same time.
            #expect(queue.admit(0, at: at(0), until: nil).started.map(\.priority) == [.usual])
            for request in 1..<threads {
                #expect(queue.admit(request, at: at(0), until: nil).started.map(\.priority) == [.lower])
            }
            // Others wait, until the last of them.
            for request in 0..<3 { #expect(queue.admit(request, at: at(0), until: nil).started.isEmpty) }
            #expect(queue.ended(.usual, after: nil, at: at(0)).started.map(\.priority) == [.lower])
            #expect(queue.ended(.lower, after: nil, at: at(0)).started.map(\.priority) == [.lower])
            #expect(queue.ended(.lower, after: nil, at: at(0)).started.map(\.priority) == [.usual])
            #expect(queue.running == threads && queue.waiting == 0)
        }
    }

    /// However slow the last hashes were.
    @Test func aFreeThreadRefusesNobodyWhoseDeadlineHasNotPassed() {
        var queue = Queue(threads: 2, permits: 8)
        for _ in 0..<50 {
            _ = queue.admit(0, at: at(0), until: nil)
            _ = queue.ended(.lower, after: .seconds(3600), at: at(0))
        }
        #expect(queue.hashTime > .seconds(9) && queue.hashTime <= .seconds(10))
        #expect(started(queue.admit(1, at: at(0), until: at(1))) == [1])
        #expect(started(queue.admit(2, at: at(0), until: at(1))) == [2])
        #expect(queue.admit(3, at: at(0), until: at(5000)).refused == [3])
        _ = queue.ended(.lower, after: .milliseconds(1), at: at(0))
        #expect(queue.admit(4, at: at(7), until: at(7)).refused == [4])
        // The average follows a machine that has become faster.
        _ = queue.ended(.lower, after: .milliseconds(1), at: at(0))
        for _ in 0..<30 {
            _ = queue.admit(0, at: at(0), until: nil)
            _ = queue.ended(.lower, after: .milliseconds(20), at: at(0))
        }
        #expect(queue.hashTime < .milliseconds(25))
    }

    /// For each number of threads and each deadline: as many wait as will be hashed in time, and none more.
    @Test func theExpectedWaitDecides() {
        for threads in 1...4 {
            for deadline in stride(from: 100, through: 6000, by: 100) {
                var queue = Queue(threads: threads, permits: 10_000)
                var admitted = 0
                while queue.admits(at: at(0), until: at(deadline)), admitted < 5000 {
                    #expect(queue.admit(admitted, at: at(0), until: at(deadline)).refused.isEmpty)
                    admitted += 1
                }
                #expect(queue.admit(-1, at: at(0), until: at(deadline)).refused == [-1])
                #expect(admitted < 5000 && admitted >= threads)
                // As fast as expected: all are hashed, with a part of their time left for the steps after the hash.
                var (now, hashed) = (0, threads)
                while queue.waiting > 0 {
                    now += 50
                    for _ in 0..<threads where queue.running > 0 {
                        let effects = queue.ended(.lower, after: .milliseconds(50), at: at(now))
                        #expect(effects.refused.isEmpty)
                        hashed += effects.started.count
                    }
                }
                #expect(hashed == admitted)
                let reserve = min(1000, deadline / 4)
                #expect(admitted == threads || now + 50 <= deadline - reserve)
                #expect(now + 50 > deadline - reserve - 100 || deadline < 200)
            }
        }
    }

    @Test func theQueueIsLimited() {
        var queue = Queue(threads: 2, permits: 3)
        for request in 0..<5 { #expect(queue.admit(request, at: at(0), until: nil).refused == []) }
        #expect(!queue.admits(at: at(0), until: nil))
        #expect(queue.admit(5, at: at(0), until: nil).refused == [5])
        #expect(queue.running == 2 && queue.waiting == 3)
        var none = Queue(threads: 1, permits: -1)
        #expect(none.admit(0, at: at(0), until: nil).refused == [0])
    }

    @Test func theOldestIsFirstUntilTheQueueIsOld() {
        var queue = Queue(threads: 1, permits: 10)
        for request in 0..<6 { _ = queue.admit(request, at: at(request), until: at(60_000)) }
        #expect(started(queue.ended(.lower, after: .milliseconds(50), at: at(50))) == [1])
        #expect(started(queue.ended(.lower, after: .milliseconds(50), at: at(100))) == [2])
        // A hash took long: 3 was expected to wait for 150 ms.
        #expect(started(queue.ended(.lower, after: .seconds(1), at: at(1100))) == [5])
        #expect(started(queue.ended(.lower, after: .milliseconds(50), at: at(1150))) == [4])
        _ = queue.admit(6, at: at(1160), until: at(60_000))
        #expect(started(queue.ended(.lower, after: .milliseconds(50), at: at(1200))) == [6])
        #expect(started(queue.ended(.lower, after: .milliseconds(50), at: at(1250))) == [3])
        // New again.
        _ = queue.admit(7, at: at(1300), until: at(60_000))
        _ = queue.admit(8, at: at(1300), until: at(60_000))
        #expect(started(queue.ended(.lower, after: .milliseconds(50), at: at(1350))) == [7])
        // One without a deadline cannot be late.
        var endless = Queue(threads: 1, permits: 10)
        for request in 0..<2 { _ = endless.admit(request, at: at(0), until: nil) }
        _ = endless.admit(2, at: at(1), until: at(60_000))
        #expect(started(endless.ended(.lower, after: .seconds(1), at: at(1000))) == [1])
    }

    @Test func aRequestThatWouldBeLateIsRefusedAndNotHashed() {
        var queue = Queue(threads: 1, permits: 10)
        _ = queue.admit(0, at: at(0), until: nil)
        _ = queue.admit(1, at: at(0), until: at(400))
        _ = queue.admit(2, at: at(0), until: at(4000))
        _ = queue.admit(3, at: at(0), until: nil)
        #expect(queue.nextExpiry == at(350))
        #expect(queue.expire(at: at(349)).refused == [])
        #expect(queue.expire(at: at(350)).refused == [1])
        // The average is 1 s now, and a second is reserved for the steps after the hash.
        let effects = queue.ended(.lower, after: .milliseconds(3850), at: at(2000))
        #expect(queue.hashTime == .milliseconds(1000))
        #expect(effects.refused == [2] && started(effects) == [3])
        #expect(queue.nextExpiry == nil)
    }
}
