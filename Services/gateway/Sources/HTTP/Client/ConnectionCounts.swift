import Synchronization

/// How many connections each address has open.
final class ConnectionCounts: Sendable {
    private let limit: Int
    private let counts = Mutex<[AddressKey: Int]>([:])

    init(limit: Int) { self.limit = limit }

    /// Counts one more.
    ///
    /// - Returns: whether it is one too many.
    func enter(_ key: AddressKey) -> Bool {
        counts.withLock { counts in
            let count = counts[key, default: 0] + 1
            counts[key] = count
            return count > limit
        }
    }

    func leave(_ key: AddressKey) {
        counts.withLock { counts in
            guard let count = counts[key] else { return }
            counts[key] = count > 1 ? count - 1 : nil
        }
    }
}
