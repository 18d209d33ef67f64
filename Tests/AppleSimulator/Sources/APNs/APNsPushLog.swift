import Foundation
import NIOCore
import Synchronization

/// The pushes that APNs received, the newest ones.
final class APNsPushLog: Sendable {
    struct Entry: Codable, Sendable, Equatable {
        /// Counts from 1.
        var number = 0
        /// Milliseconds since 1970, by the machine's clock.
        var time: Int
        /// Counts from 1.
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
        /// How many earlier pushes in the log have the same `apns-id`.
        var duplicates = 0
    }

    struct Page: Codable, Sendable {
        var pushes: [Entry]
        /// The next page's `after`.
        var next: Int
        /// Entries after `after` that the log no longer has.
        var lost: Int
    }

    private struct State {
        var entries = CircularBuffer<Entry>()
        /// Of ``entries``' first.
        var firstNumber = 1
        var bytes = 0
        var counts: [String: Int] = [:]

        mutating func removeOldest() {
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
    private let state = Mutex(State())

    init(maximumCount: Int = 100_000) {
        self.maximumCount = maximumCount
    }

    /// - Returns: the entry's number.
    @discardableResult
    func add(_ entry: Entry) -> Int {
        state.withLock { state in
            var entry = entry
            entry.number = state.firstNumber + state.entries.count
            if let id = entry.id {
                entry.duplicates = state.counts[id, default: 0]
                state.counts[id] = entry.duplicates + 1
            }
            state.bytes += entry.payload.utf8.count
            state.entries.append(entry)
            while state.entries.count > maximumCount || state.bytes > Self.maximumBytes { state.removeOldest() }
            return entry.number
        }
    }

    /// Records that APNs has not processed the push after all.
    func withdraw(_ number: Int) {
        state.withLock { state in
            let index = number - state.firstNumber
            guard index >= 0, index < state.entries.count else { return }
            let position = state.entries.index(state.entries.startIndex, offsetBy: index)
            state.entries[position].status = nil
            state.entries[position].reason = nil
        }
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
