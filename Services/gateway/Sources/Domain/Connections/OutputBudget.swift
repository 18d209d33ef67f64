/// How many bytes of responses may wait for the clients of one event loop, all together.
///
/// Each client may have an eighth of what is left, between `least` and `most`. So a few slow clients have all that they
/// need, and many together come to little more than the limit.
struct OutputBudget: Sendable {
    /// Bytes for one client, while enough is left.
    static let most = 64 * 1024
    /// Bytes for one client, however many there are.
    static let least = 4 * 1024

    private let limit: Int
    /// Bytes that wait now.
    private(set) var waiting = 0

    /// - Parameter limit: bytes.
    init(limit: Int) { self.limit = limit }

    /// With fewer bytes than these waiting for it, more may be read for a client.
    var allowance: Int { max(Self.least, min(Self.most, (limit - waiting) / 8)) }

    /// Whether there is less than every client would like.
    var isShort: Bool { allowance < Self.most }

    mutating func change(by bytes: Int) { waiting += bytes }
}
