/// The service's data. Keep yours in a database that only your service accesses.
struct ItemStore: Sendable {
    private let known = [7]

    /// The task is cancelled when the caller's deadline passes, so a driver that supports cancellation ends its query.
    func items() async throws -> [Int] {
        try Task.checkCancellation()
        return known
    }
}
