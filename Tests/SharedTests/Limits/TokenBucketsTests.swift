import GatehouseLimits
import TestKit
import Testing

@Suite("Token buckets by key")
struct TokenBucketsTests {
    private static let bucket = TokenBucket(capacity: 2, refillPerSecond: 1_000_000)

    /// One step of the exhaustive test. A token comes back each microsecond.
    private enum Step: CaseIterable {
        case takeA, takeB, takeC, takeTwoA, refundA, exhaustB, wait
    }

    /// Every bucket with its own state and without a bound, and a table of two.
    private struct Tables {
        var now: Int64 = 1000
        var table = TokenBucketTable<String>(bucket: bucket, capacity: 2, reportSize: 2)
        /// Of the keys that have a bucket in the table, or had one that was full when it was removed.
        var fullAt: [String: Int64] = [:]
        /// Of all tokens that the table has let pass.
        var (taken, reported) = (0, 0)

        mutating func take(_ step: Step) -> Bool {
            switch step {
            case .takeA: take(1, "a")
            case .takeB: take(1, "b")
            case .takeC: take(1, "c")
            case .takeTwoA: take(2, "a")
            case .refundA: refund("a")
            case .exhaustB: exhaust("b")
            case .wait: pass()
            }
        }

        private var busy: [String] { fullAt.filter { $0.value > now }.map(\.key) }

        /// Only as many keys as the table has buckets can be busy: one more finds room unless all of them are.
        private func hasRoom(_ key: String) -> Bool { busy.contains(key) || busy.count < 2 }

        private mutating func take(_ cost: Int, _ key: String) -> Bool {
            let check = table.room(after: cost, of: key, now: now)
            let mayTake = hasRoom(key)
            guard let (room, toReport) = table.take(cost, from: key, now: now) else { return check == nil && !mayTake }
            let (expected, next) = bucket.room(after: cost, fullAt: fullAt[key] ?? 0, now: now)
            if room >= 0 {
                fullAt[key] = next
                taken += cost
            }
            reported += toReport
            return mayTake && check == expected && room == expected && (toReport == 0 || toReport >= 2) && isSound
        }

        private mutating func refund(_ key: String) -> Bool {
            table.refund(1, to: key)
            fullAt[key] = fullAt[key].map { $0 > now ? $0 - bucket.interval : $0 }
            return isSound
        }

        private mutating func exhaust(_ key: String) -> Bool {
            let hasRoom = hasRoom(key)
            table.exhaust(key, for: 3, now: now)
            if hasRoom { fullAt[key] = max(fullAt[key] ?? 0, now + 3 + bucket.interval) }
            return isSound
        }

        private mutating func pass() -> Bool {
            now += 1
            return isSound
        }

        /// Keys that are not full keep their state, and no token is reported twice.
        private var isSound: Bool {
            table.count <= 2 && reported <= taken
                && busy.allSatisfy { key in
                    (0...2).allSatisfy {
                        table.room(after: $0, of: key, now: now)
                            == bucket.room(after: $0, fullAt: fullAt[key] ?? 0, now: now).room
                    }
                }
        }
    }

    /// A key's bucket behaves as if it were alone, and only where all buckets are in use does a key find no room.
    @Test("All sequences of six steps: a table decides as buckets without a bound, unless it is full")
    func table() {
        var failures: [[Step]] = []
        func walk(_ tables: Tables, _ steps: [Step]) {
            guard steps.count < 6, failures.isEmpty else { return }
            for step in Step.allCases {
                var next = tables
                if !next.take(step) { failures.append(steps + [step]) }
                walk(next, steps + [step])
            }
        }
        walk(Tables(), [])
        #expect(failures.isEmpty)
    }

    @Test("A larger table: a bucket that is not full stays, and others make room")
    func largerTable() {
        var generator = SeededGenerator(seed: 7)
        let bucket = TokenBucket(capacity: 60, refillPerSecond: 1_000_000)
        var table = TokenBucketTable<String>(bucket: bucket, capacity: 64)
        var fullAt: [String: Int64] = [:]
        var refused = 0
        for now in Int64(1)...20_000 {
            let key = "\(Int.random(in: 0..<200, using: &generator))"
            let cost = Int.random(in: 1...60, using: &generator)
            let (expected, next) = bucket.room(after: cost, fullAt: fullAt[key] ?? 0, now: now)
            guard let (room, _) = table.take(cost, from: key, now: now) else {
                refused += 1
                continue
            }
            #expect(room == expected)
            if room >= 0 { fullAt[key] = next }
            #expect(table.count <= 64)
        }
        #expect(fullAt.count > 150 && refused < 1000)
    }

    @Test("A flood of keys resets no bucket, and shares a fixed number of larger ones")
    func flood() {
        let second: Int64 = 1_000_000
        let buckets = TokenBuckets<String>(bucket: TokenBucket(capacity: 3, refillPerSecond: 1), capacity: 100)
        func take(_ cost: Int, _ key: String, at now: Int64) -> Bool {
            buckets.take(cost, from: key, now: now).decision.isAllowed
        }
        for _ in 0..<3 { #expect(take(1, "victim", at: 100 * second)) }
        var allowed = 0
        for number in 0..<50_000 {
            if take(3, "\(number)", at: 100 * second) { allowed += 1 }
            #expect(buckets.count <= 100)
        }
        #expect(!take(1, "victim", at: 100 * second) && !take(1, "7", at: 100 * second))
        // 99 of their own, and 256 that are shared and hold 64 times as much.
        #expect(allowed == 99 + 256 * 64)
        let shared = buckets.take(0, from: "another", now: 100 * second)
        #expect(shared.isShared && shared.decision == .allowed(remaining: 0))
        #expect(!buckets.check(of: "another", now: 100 * second).isAllowed)
        // Buckets that are full again make room.
        for number in 0..<100 { #expect(take(3, "late\(number)", at: 110 * second)) }
        for number in 0..<100 { #expect(!take(1, "late\(number)", at: 110 * second)) }
    }
}
