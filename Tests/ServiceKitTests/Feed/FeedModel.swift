import Foundation
import ServiceKitPostgres

/// A feed with two sequencers, a reader, a database and an older copy of it, in every order of their steps.
struct FeedModel: Hashable {
    /// A mistake in the design, which the exploration must find.
    enum Flaw: CaseIterable {
        /// Reads pending entries and the newest number before it has the lock.
        case readsBeforeTheLock
        /// Commits the removal of pending entries before it adds them to the log.
        case removesFirst
        /// Numbers alone identify entries.
        case constantTags
        /// Purges the newest entry too.
        case purgesEverything
        /// Purges every old entry, also the last one, behind which readers stand that had read everything.
        case purgesTheLastOldOne
        /// Gives numbers when entries are inserted, not after their commit.
        case numbersAtInsertion
    }

    struct Entry: Hashable {
        var number: Int
        var tag: Int
        var id: Int
    }

    /// What a commit makes durable, and what a copy contains.
    struct Database: Hashable {
        var committed: Set<Int> = []
        var pending: Set<Int> = []
        /// In the order of the numbers.
        var log: [Entry] = []
        var purged: Set<Int> = []
    }

    /// What a sequencer has done so far.
    enum Sequencer: Hashable {
        case idle
        /// Only with ``Flaw/readsBeforeTheLock``.
        case hasRead(pending: Set<Int>, newest: Int)
        case hasLock
        case hasLockAndRead(pending: Set<Int>, newest: Int)
        /// Only with ``Flaw/removesFirst``.
        case hasRemoved(pending: Set<Int>, newest: Int)

        /// Its place in the order of the steps.
        var rank: Int {
            switch self {
            case .idle: 0
            case .hasRead: 1
            case .hasLock: 2
            case .hasLockAndRead: 3
            case .hasRemoved: 4
            }
        }

        var hasLock: Bool {
            switch self {
            case .idle, .hasRead: false
            case .hasLock, .hasLockAndRead, .hasRemoved: true
            }
        }
    }

    struct Reader: Hashable {
        var cursor = FeedCursor.oldest
        var seen: Set<Int> = []
        /// Entries that were purged before the reader last began with the oldest one.
        var excused: Set<Int> = []
    }

    var flaw: Flaw?
    var database = Database()
    var copy: Database?
    /// Transactions that have inserted their entry and are not committed.
    var open: Set<Int> = []
    var inserted = 0
    var sequencers = [Sequencer.idle, .idle]
    var reader = Reader()
    var lastTag = 0
    var purges = 1
    /// The number of the newest entry that was old at a purge.
    var lastOld = 0
    var hasLost = false
    var violation: String?

    /// Three make thirteen times as many states.
    static let entries = ProcessInfo.processInfo.environment["GATEHOUSE_FEED_ENTRIES"].flatMap { Int($0) } ?? 2

    /// The states after each possible step.
    var successors: [FeedModel] {
        var next: [FeedModel] = []
        func step(_ change: (inout FeedModel) -> Void) {
            var model = self
            change(&model)
            model.check()
            // The two sequencers are alike.
            if model.sequencers[0].rank > model.sequencers[1].rank { model.sequencers.swapAt(0, 1) }
            next.append(model)
        }
        if inserted < Self.entries { step { $0.insert() } }
        for id in open {
            step { $0.commit(id) }
        }
        for index in sequencers.indices {
            step { $0.advance(index) }
            // Killed at any point: PostgreSQL rolls back.
            if sequencers[index] != .idle { step { $0.sequencers[index] = .idle } }
        }
        step { $0.read() }
        if purges > 0 {
            for old in database.log.indices { step { $0.purge(old: old + 1) } }
        }
        if copy == nil { step { $0.copy = $0.database } }
        if copy != nil, !hasLost { step { $0.loseWhatTheCopyLacks() } }
        return next
    }

    private mutating func insert() {
        inserted += 1
        open.insert(inserted)
    }

    private mutating func commit(_ id: Int) {
        open.remove(id)
        database.committed.insert(id)
        if flaw == .numbersAtInsertion {
            let entry = Entry(number: id, tag: id, id: id)
            database.log = (database.log + [entry]).sorted { $0.number < $1.number }
        } else {
            database.pending.insert(id)
        }
    }

    private mutating func advance(_ index: Int) {
        let newest = database.log.last?.number ?? 0
        let isLocked = sequencers.contains { $0.hasLock }
        switch sequencers[index] {
        case .idle where flaw == .readsBeforeTheLock:
            sequencers[index] = .hasRead(pending: database.pending, newest: newest)
        case .idle:
            if !isLocked { sequencers[index] = .hasLock }
        case .hasRead(let pending, let newest):
            if !isLocked { sequencers[index] = .hasLockAndRead(pending: pending, newest: newest) }
        case .hasLock:
            sequencers[index] = .hasLockAndRead(pending: database.pending, newest: newest)
        case .hasLockAndRead(let pending, let newest):
            database.pending.subtract(pending)
            if flaw == .removesFirst {
                sequencers[index] = .hasRemoved(pending: pending, newest: newest)
            } else {
                append(pending, after: newest)
                sequencers[index] = .idle
            }
        case .hasRemoved(let pending, let newest):
            append(pending, after: newest)
            sequencers[index] = .idle
        }
    }

    private mutating func append(_ ids: Set<Int>, after newest: Int) {
        for (offset, id) in ids.sorted().enumerated() {
            lastTag += 1
            database.log.append(
                Entry(number: newest + 1 + offset, tag: flaw == .constantTags ? 1 : lastTag, id: id))
        }
    }

    /// Reads a page of one entry.
    private mutating func read() {
        let own = database.log.first { $0.number == reader.cursor.number }
        let first = database.log.first.map { Int64($0.number) }
        guard reader.cursor.continues(where: own.map { Int64($0.tag) }, first: first) else {
            if !hasLost, reader.cursor.number >= lastOld { violation = "reset without a reason" }
            reader.cursor = .oldest
            reader.excused = database.purged
            return
        }
        if reader.cursor == .oldest { reader.excused.formUnion(database.purged) }
        guard let entry = database.log.first(where: { $0.number > reader.cursor.number }) else {
            let newest = database.log.last
            reader.cursor = newest.map { .after(number: Int64($0.number), tag: Int64($0.tag)) } ?? .nothing
            let missed = database.purged.union(database.log.map(\.id)).subtracting(reader.seen)
                .subtracting(reader.excused)
            if !missed.isEmpty { violation = "at the end without \(missed)" }
            return
        }
        reader.seen.insert(entry.id)
        reader.cursor = .after(number: Int64(entry.number), tag: Int64(entry.tag))
    }

    /// Removes the `old` oldest entries but the last.
    private mutating func purge(old: Int) {
        purges -= 1
        lastOld = database.log[old - 1].number
        let count =
            switch flaw {
            case .purgesEverything: old
            case .purgesTheLastOldOne: min(old, database.log.count - 1)
            default: old - 1
            }
        database.purged.formUnion(database.log[..<count].map(\.id))
        database.log.removeFirst(count)
    }

    /// A fail-over to a standby that lagged, or a restore.
    private mutating func loseWhatTheCopyLacks() {
        database = copy ?? database
        hasLost = true
        open = []
        sequencers = [.idle, .idle]
    }

    private mutating func check() {
        let numbers = database.log.map(\.number)
        if flaw != .numbersAtInsertion, zip(numbers, numbers.dropFirst()).contains(where: { $0 + 1 != $1 }) {
            violation = "numbers \(numbers)"
        }
        if Set(database.log.map(\.id)).count != numbers.count { violation = "an entry twice" }
        let known = database.pending.union(database.log.map(\.id)).union(database.purged)
        let isBetweenCommits = sequencers.contains { if case .hasRemoved = $0 { true } else { false } }
        if !isBetweenCommits, !database.committed.isSubset(of: known) { violation = "an entry is gone" }
    }
}
