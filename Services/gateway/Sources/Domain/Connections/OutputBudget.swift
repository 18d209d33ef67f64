import Synchronization

/// How many bytes of responses may wait for the clients of the process, as one event loop knows it.
///
/// Each client may have an eighth of what is left, between `least` and `most`. So a few slow clients have all that they
/// need, and many together come to little more than the limit.
struct OutputBudget: Sendable {
    /// What the event loops share.
    final class Shared: Sendable {
        fileprivate let limit: Int
        fileprivate let waiting = Atomic<Int>(0)

        /// - Parameter limit: bytes.
        init(limit: Int) { self.limit = limit }
    }

    /// Bytes for one client, while enough is left.
    static let most = 64 * 1024
    /// Bytes for one client, however many there are.
    static let least = 4 * 1024

    private let shared: Shared
    /// A change that the other event loops need not know yet. No loop is wrong by more than so much for each other one.
    private let step: Int
    private var unshared = 0

    init(_ shared: Shared) {
        self.shared = shared
        step = min(Self.most, shared.limit / 256)
    }

    /// Bytes that wait now.
    var waiting: Int { shared.waiting.load(ordering: .relaxed) + unshared }

    /// With fewer bytes than these waiting for it, more may be read for a client.
    var allowance: Int { max(Self.least, min(Self.most, (shared.limit - waiting) / 8)) }

    /// Whether there is less than every client would like.
    var isShort: Bool { allowance < Self.most }

    mutating func change(by bytes: Int) {
        unshared += bytes
        guard abs(unshared) > step else { return }
        shared.waiting.add(unshared, ordering: .relaxed)
        unshared = 0
    }
}
