import Synchronization

/// How many bytes of bodies may wait in the process, as one event loop knows it: one budget for requests that wait for
/// upstreams, one for responses that wait for clients.
///
/// Each body may have an eighth of what is left, between `least` and `most`. So a few slow bodies have all that they
/// need, and many together come to little more than the limit.
struct BufferBudget: Sendable {
    /// What the event loops share.
    final class Shared: Sendable {
        fileprivate let limit: Int
        fileprivate let waiting = Atomic<Int>(0)

        /// - Parameter limit: bytes.
        init(limit: Int) { self.limit = limit }

        /// Bytes that wait now, as far as the event loops have said.
        var bytes: Int { waiting.load(ordering: .relaxed) }
    }

    /// Bytes for one body, while enough is left.
    static let most = 64 * 1024
    /// Bytes for one body, however many there are.
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

    /// With fewer bytes than these waiting, more of a body may be read.
    var allowance: Int { max(Self.least, min(Self.most, (shared.limit - waiting) / 8)) }

    /// Whether there is less than every body could use.
    var isShort: Bool { allowance < Self.most }

    mutating func change(by bytes: Int) {
        unshared += bytes
        guard abs(unshared) > step else { return }
        shared.waiting.add(unshared, ordering: .relaxed)
        unshared = 0
    }
}
