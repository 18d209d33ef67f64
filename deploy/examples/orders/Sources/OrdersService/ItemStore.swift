/// What the service keeps: in a database of yours, which nobody else reads.
struct ItemStore: Sendable {
    private let known = [7]

    /// The task is cancelled when the caller's deadline comes: a driver that heeds that ends its query.
    func items() async throws -> [Int] {
        try Task.checkCancellation()
        return known
    }
}
