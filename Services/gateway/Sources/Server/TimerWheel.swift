/// An object with a deadline. The wheel calls it when the deadline has passed.
protocol Timed: AnyObject {
    /// Nanoseconds of the worker's clock; `.max`: none.
    var deadline: Int64 { get }
    /// The position in the wheel; only the wheel changes it.
    var timerSlot: TimerSlot? { get set }

    /// The implementation has to set another deadline; otherwise it is not called again.
    func timedOut(now: Int64)
}

struct TimerSlot {
    fileprivate var tick: Int64
    fileprivate var index: Int
}

/// The deadlines of an event loop's connections. Each is in a slot that is due at the first tick after the deadline, or
/// earlier, and is checked when that slot is due. So moving a deadline with each request costs one comparison, and a
/// connection costs nothing until its slot is due.
final class TimerWheel {
    /// Nanoseconds; a deadline that has passed is noticed within one of these.
    static let tick: Int64 = 50_000_000
    /// A deadline beyond the last slot is put into the last one, and again when that one is due.
    private static let slotCount: Int64 = 1024

    private var slots = [[any Timed]](repeating: [], count: Int(slotCount))
    /// The last slot that was processed.
    private var current: Int64
    /// When the wheel has to be advanced next; `.max` while it is empty. Nothing has to happen before.
    private(set) var dueAt = Int64.max

    init(now: Int64) { current = now / Self.tick }

    /// A deadline was set. If it is later than the previous one, it is noticed when the previous one is due.
    func note(_ timed: any Timed) {
        guard timed.deadline < .max else { return }
        let due = timed.deadline / Self.tick + 1
        let tick = min(max(due, current + 1), current + Self.slotCount - 1)
        if let position = timed.timerSlot {
            guard tick < position.tick else { return }
            remove(timed)
        }
        let slot = Self.slot(of: tick)
        timed.timerSlot = TimerSlot(tick: tick, index: slots[slot].count)
        slots[slot].append(timed)
        dueAt = min(dueAt, tick * Self.tick)
    }

    /// `dueAt` stays, so that removing costs no search. The wheel is advanced once too often at most.
    func remove(_ timed: any Timed) {
        guard let position = timed.timerSlot else { return }
        timed.timerSlot = nil
        let slot = Self.slot(of: position.tick)
        let last = slots[slot].removeLast()
        guard last !== timed else { return }
        slots[slot][position.index] = last
        last.timerSlot?.index = position.index
    }

    /// Calls `timedOut` on each object whose deadline has passed.
    func advance(to now: Int64) {
        let target = now / Self.tick
        guard dueAt <= now else { return current = max(current, target) }
        // After a pause longer than the wheel, each slot is processed once.
        var tick = max(current + 1, target - Self.slotCount + 1)
        while tick <= target {
            // Advanced first, so that `note` adds nothing to this slot.
            current = max(current, tick)
            while let timed = slots[Self.slot(of: tick)].popLast() {
                timed.timerSlot = nil
                if timed.deadline <= now { timed.timedOut(now: now) } else { note(timed) }
            }
            tick += 1
        }
        let next = (current + 1..<current + Self.slotCount).first { !slots[Self.slot(of: $0)].isEmpty }
        dueAt = next.map { $0 * Self.tick } ?? .max
    }

    private static func slot(of tick: Int64) -> Int { Int(tick % slotCount) }
}

/// Random numbers for identifiers that only need to be distinct (xorshift64*, seeded from the system).
struct FastRandom: RandomNumberGenerator {
    private var state = UInt64.random(in: 1 ... .max)

    mutating func next() -> UInt64 {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return state &* 0x2545_F491_4F6C_DD1D
    }
}
