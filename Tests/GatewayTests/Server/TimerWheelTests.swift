import Testing

@testable import GatewayService

@Suite("Deadlines")
struct TimerWheelTests {
    private static let second: Int64 = 1_000_000_000
    private static let start: Int64 = 5_000 * second

    private final class Item: Timed {
        let wheel: TimerWheel
        private(set) var looks = 0
        private var time = Int64.max
        var deadline: Int64 {
            get {
                looks += 1
                return time
            }
            set {
                time = newValue
                wheel.note(self)
            }
        }
        var timerSlot: TimerSlot?
        var told: [Int64] = []
        /// What it does then.
        var then: (Item) -> Void = { $0.deadline = .max }

        init(_ wheel: TimerWheel) { self.wheel = wheel }

        func timedOut(now: Int64) {
            told.append(now)
            then(self)
        }
    }

    /// Runs the wheel as a worker does, which sleeps until something is due.
    ///
    /// - Returns: how often it woke up.
    @discardableResult
    private func run(_ wheel: TimerWheel, from start: Int64, for duration: Int64) -> Int {
        var wakes = 0
        while wheel.dueAt <= start + duration {
            wheel.advance(to: max(start, wheel.dueAt))
            wakes += 1
        }
        wheel.advance(to: start + duration)
        return wakes
    }

    /// Two deadlines, each moved or taken back once, around the ends of the wheel.
    @Test("The wheel wakes up for deadlines only, at each in time, and not at all when it is empty")
    func wakes() {
        let ticks: [Int64?] = [nil, 0, 1, 2, 1022, 1023, 1024, 2500]
        let deadlines = ticks.map { $0.map { Self.start + $0 * TimerWheel.tick + 1 } ?? .max }
        for first in deadlines {
            for second in deadlines {
                for moved in deadlines {
                    for removed in [false, true] {
                        let wheel = TimerWheel(now: Self.start)
                        let items = [Item(wheel), Item(wheel)]
                        (items[0].deadline, items[1].deadline) = (first, second)
                        items[0].deadline = moved
                        if removed { wheel.remove(items[1]) }
                        let wakes = run(wheel, from: Self.start, for: 3000 * TimerWheel.tick)
                        let expected = [moved, removed ? .max : second]
                        for (item, deadline) in zip(items, expected) {
                            #expect(item.told.count == (deadline == .max ? 0 : 1))
                            #expect(item.told.allSatisfy { $0 >= deadline && $0 <= deadline + TimerWheel.tick })
                        }
                        #expect(wheel.dueAt == .max)
                        // One for each deadline that is or was set, and two for each that is rounds away.
                        #expect(wakes <= 8)
                        if first == .max, moved == .max, second == .max { #expect(wakes == 0) }
                    }
                }
            }
        }
    }

    @Test("A wheel that was empty for long notices the next deadline in time")
    func afterPause() {
        let wheel = TimerWheel(now: Self.start)
        let now = Self.start + 5000 * Self.second
        wheel.advance(to: now)
        let item = Item(wheel)
        item.deadline = now + Self.second
        #expect(run(wheel, from: now, for: 10 * Self.second) == 1)
        #expect(item.told.count == 1 && item.told[0] <= now + Self.second + TimerWheel.tick)
    }

    @Test("Each is told once, not before its time and at most a tick after")
    func due() {
        let wheel = TimerWheel(now: Self.start)
        var random = FastRandom()
        let items = (0..<2000).map { _ in
            let item = Item(wheel)
            item.deadline = Self.start + Int64(random.next() % 100) * Self.second + Int64(random.next() % 1_000_000_000)
            return (item, item.deadline)
        }
        run(wheel, from: Self.start, for: 102 * Self.second)
        for (item, deadline) in items {
            #expect(item.told.count == 1)
            #expect(item.told.allSatisfy { $0 >= deadline && $0 <= deadline + TimerWheel.tick })
        }
    }

    @Test("A deadline that moves counts where it is last, earlier or later, or nowhere")
    func moves() {
        let wheel = TimerWheel(now: Self.start)
        let items = (0..<3).map { _ in Item(wheel) }
        for item in items { item.deadline = Self.start + 10 * Self.second }
        items[0].deadline = Self.start + 2 * Self.second
        items[1].deadline = Self.start + 200 * Self.second
        items[2].deadline = .max
        run(wheel, from: Self.start, for: 300 * Self.second)
        #expect(items[0].told.count == 1 && items[0].told[0] <= Self.start + 3 * Self.second)
        #expect(items[1].told.count == 1 && items[1].told[0] >= Self.start + 200 * Self.second)
        #expect(items[2].told.isEmpty)
    }

    @Test("The wheel tells a removed item nothing, also when another item's end removes it")
    func removal() {
        let wheel = TimerWheel(now: Self.start)
        let items = (0..<100).map { _ in Item(wheel) }
        for item in items { item.deadline = Self.start + Self.second }
        for item in items[..<30] { wheel.remove(item) }
        for (item, other) in zip(items[30..<60], items[60...]) {
            item.then = { item in
                wheel.remove(other)
                item.deadline = .max
            }
            other.then = { other in
                wheel.remove(item)
                other.deadline = .max
            }
        }
        run(wheel, from: Self.start, for: 5 * Self.second)
        #expect(items[..<30].allSatisfy { $0.told.isEmpty })
        for (item, other) in zip(items[30..<60], items[60...]) { #expect(item.told.count + other.told.count == 1) }
        #expect(items[90...].allSatisfy { $0.told.count == 1 })
    }

    @Test("An item is due again while it fires: it fires with the next tick")
    func again() {
        let wheel = TimerWheel(now: Self.start)
        let item = Item(wheel)
        item.then = { $0.deadline = 0 }
        item.deadline = Self.start
        wheel.advance(to: Self.start + TimerWheel.tick)
        #expect(item.told.count == 1)
        wheel.advance(to: Self.start + 3 * TimerWheel.tick)
        #expect(item.told.count == 3)
    }

    @Test("After a pause that is longer than the wheel all that is due is told")
    func pause() {
        let wheel = TimerWheel(now: Self.start)
        let items = (1...200).map { number in
            let item = Item(wheel)
            item.deadline = Self.start + Int64(number) * Self.second
            return item
        }
        wheel.advance(to: Self.start + 150 * Self.second)
        #expect(items.prefix(150).allSatisfy { $0.told.count == 1 } && items.suffix(50).allSatisfy { $0.told.isEmpty })
        run(wheel, from: Self.start + 150 * Self.second, for: 60 * Self.second)
        #expect(items.allSatisfy { $0.told.count == 1 })
    }

    @Test("Connections for which nothing is due are not looked at")
    func idle() {
        let wheel = TimerWheel(now: Self.start)
        let items = (0..<1000).map { _ in Item(wheel) }
        for item in items { item.deadline = Self.start + 75 * Self.second }
        let before = items.map(\.looks)
        run(wheel, from: Self.start, for: 70 * Self.second)
        // Not 20 times a second: once each time that the wheel has turned, a few reads of the deadline at each.
        for (item, before) in zip(items, before) { #expect(item.looks - before <= 8) }
        #expect(items.allSatisfy { $0.told.isEmpty })
    }
}
