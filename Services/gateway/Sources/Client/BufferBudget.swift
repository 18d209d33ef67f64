import Synchronization

/// The number of bytes of bodies that may wait in the process, as seen by one event loop. Requests that wait for
/// upstreams have one budget, responses that wait for clients another.
///
/// Each body may use an eighth of the free memory, between `least` and `most` bytes. A few slow bodies therefore get
/// `most`, and many together barely exceed the limit.
struct BufferBudget: Sendable {
    /// The part that the event loops share.
    final class Shared: Sendable {
        fileprivate let limit: Int
        fileprivate let waiting = Atomic<Int>(0)

        /// - Parameter limit: bytes.
        init(limit: Int) { self.limit = limit }

        /// Bytes that wait now, as far as the event loops have reported.
        var bytes: Int { waiting.load(ordering: .relaxed) }
    }

    /// Bytes for one body, while enough memory is free.
    static let most = 64 * 1024
    /// Bytes for one body, however many bodies there are.
    static let least = 4 * 1024

    private let shared: Shared
    /// A change up to this size is not shared yet. The count of each event loop is wrong by at most this much for each
    /// other one.
    private let step: Int
    private var unshared = 0

    init(_ shared: Shared) {
        self.shared = shared
        step = min(Self.most, shared.limit / 256)
    }

    /// Bytes that wait now.
    var waiting: Int { shared.waiting.load(ordering: .relaxed) + unshared }

    /// More of a body may be read while fewer of its bytes than this are waiting.
    var allowance: Int { max(Self.least, min(Self.most, (shared.limit - waiting) / 8)) }

    /// Whether the limit is exceeded.
    var isExhausted: Bool { waiting >= shared.limit }

    /// Whether a body gets less than `most`.
    var isShort: Bool { allowance < Self.most }

    mutating func change(by bytes: Int) {
        unshared += bytes
        guard abs(unshared) > step else { return }
        shared.waiting.add(unshared, ordering: .relaxed)
        unshared = 0
    }
}
