public import Contracts
import HTTPTypes

extension ServiceClient {
    /// The page of tokens' revocation feed that follows `cursor`; `nil` begins with the oldest entry.
    ///
    /// A long poll: tokens answers at once when there is something to tell. It is made once, since a second attempt
    /// would halve the time of the first, and whoever follows the feed asks again anyway.
    ///
    /// - Parameter seconds: how long tokens may wait; the answer is there 2 s later at the latest.
    public func revocations(
        after cursor: String?, waiting seconds: Int
    ) async throws(ServiceClientError) -> RevocationPage {
        let patience = Duration.seconds(seconds + 2)
        var query = [("wait", String(seconds))]
        if let cursor { query.append(("after", cursor)) }
        return try await send(
            .get, "/internal/revocations", query: query, deadline: .after(patience), timeout: patience,
            idempotent: false)
    }
}
