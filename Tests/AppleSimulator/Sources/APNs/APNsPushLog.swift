import Foundation
import NIOCore
import Synchronization

/// The pushes that APNs received: the newest ones in memory, all in the file if there is one.
final class APNsPushLog: Sendable {
    struct Entry: Codable, Sendable, Equatable {
        /// Counts from 1.
        var number = 0
        /// Milliseconds since 1970, by the machine's clock.
        var time: Int
        /// Counts from 1 since the start of the simulator.
        var connection: Int
        /// Empty of a broadcast.
        var token: String
        /// The channel of a broadcast.
        var channel: String?
        var topic: String?
        var type: String?
        var priority: Int?
        var id: String?
        var collapseId: String?
        /// Seconds since 1970.
        var expiration: Int?
        var payload: String
        /// APNs' decision. Absent: the push was not processed. A fault may have kept the client from learning it.
        var status: Int?
        var reason: String?
        /// The fault that the push met.
        var fault: String?
        /// Whether the connection was not read for a time: the push may have waited in the kernel.
        var wasStalled = false
        /// How many earlier pushes in the log have the same `apns-id`.
        var duplicates = 0
    }

    struct Page: Codable, Sendable {
        var pushes: [Entry]
        /// The next page's `after`.
        var next: Int
        /// Entries after `after` that are no longer in memory.
        var lost: Int
    }

    /// The file lacks entries before the one that was found.
    struct EntriesMissing: Error {
        var expected, found: Int
    }

    private struct State {
        var entries = CircularBuffer<Entry>()
        /// Of ``entries``' first.
        var firstNumber = 1
        var bytes = 0
        var counts: [String: Int] = [:]

        var nextNumber: Int { firstNumber + entries.count }

        /// Nil if the entry is not in memory.
        func position(of number: Int) -> CircularBuffer<Entry>.Index? {
            guard number >= firstNumber, number < nextNumber else { return nil }
            return entries.index(entries.startIndex, offsetBy: number - firstNumber)
        }

        mutating func append(_ entry: Entry, maximumCount: Int) {
            if let id = entry.id { counts[id, default: 0] += 1 }
            bytes += entry.payload.utf8.count
            entries.append(entry)
            while entries.count > maximumCount || bytes > APNsPushLog.maximumBytes { removeOldest() }
        }

        private mutating func removeOldest() {
            let oldest = entries.removeFirst()
            firstNumber += 1
            bytes -= oldest.payload.utf8.count
            guard let id = oldest.id, let count = counts[id] else { return }
            counts[id] = count > 1 ? count - 1 : nil
        }
    }

    /// Entries of a page.
    static let pageSize = 10_000
    private static let maximumBytes = 64 << 20
    private let maximumCount: Int
    private let file: APNsLogFile?
    private let state = Mutex(State())

    init(maximumCount: Int = 100_000, file: APNsLogFile? = nil) {
        (self.maximumCount, self.file) = (maximumCount, file)
    }

    /// The entry is in the file when the function returns.
    ///
    /// - Returns: the entry's number.
    @discardableResult
    func add(_ entry: Entry) -> Int {
        state.withLock { state in
            var entry = entry
            entry.number = state.nextNumber
            if let id = entry.id { entry.duplicates = state.counts[id, default: 0] }
            file?.append(.push(entry: entry))
            state.append(entry, maximumCount: maximumCount)
            return entry.number
        }
    }

    /// Records that APNs has not processed the push after all.
    func withdraw(_ number: Int) {
        state.withLock { state in
            guard let position = state.position(of: number) else { return }
            state.entries[position].status = nil
            state.entries[position].reason = nil
            file?.append(.push(entry: state.entries[position]))
        }
    }

    /// Adds an entry that was read from the file, or replaces the one of its number.
    ///
    /// - Throws: ``EntriesMissing`` if entries are missing before it.
    func restore(_ entry: Entry) throws {
        let next = state.withLock { state in
            let expected = state.nextNumber
            if entry.number == expected {
                state.append(entry, maximumCount: maximumCount)
            } else if let position = state.position(of: entry.number) {
                state.entries[position] = entry
            }
            return expected
        }
        if entry.number > next { throw EntriesMissing(expected: next, found: entry.number) }
    }

    func page(after number: Int, limit: Int = pageSize) -> Page {
        state.withLock { state in
            let first = max(number + 1, state.firstNumber)
            let pushes = Array(state.entries.dropFirst(first - state.firstNumber).prefix(limit))
            return Page(
                pushes: pushes, next: pushes.last?.number ?? max(number, state.firstNumber - 1),
                lost: first - number - 1)
        }
    }

    /// Everything that the log has.
    var entries: [Entry] { state.withLock { Array($0.entries) } }
}
