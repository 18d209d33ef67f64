import GatehouseService

/// The service's data. Keep yours in a database that only your service accesses.
struct ItemStore: Sendable {
    private let known = [7]

    /// The work is a span in the request's trace. The task is cancelled when the caller's deadline passes, so a driver
    /// that supports cancellation ends its query.
    func items() async throws -> [Int] {
        try withSpan("read items") { _ in
            try Task.checkCancellation()
            return known
        }
    }
}
