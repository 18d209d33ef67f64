public import Foundation
public import GatehouseServiceContracts
import HTTPTypes

extension ServiceClient {
    /// The page of tokens' revocation feed that follows `cursor`; `nil` begins with the oldest entry.
    ///
    /// A long poll: tokens answers as soon as the feed has entries. The call is not retried: a second attempt would
    /// halve the time of the first, and a reader that follows the feed calls again anyway.
    ///
    /// - Parameter seconds: how long tokens may wait. The response arrives at most 2 s later.
    public func revocations(
        after cursor: String?, waiting seconds: Int
    ) async throws(ServiceClientError) -> RevocationPage {
        try await revocations(after: cursor, waiting: seconds, form: [])
    }

    /// The same for a verifier of access tokens.
    public func accessRevocations(
        after cursor: String?, waiting seconds: Int
    ) async throws(ServiceClientError) -> AccessRevocationPage {
        try await revocations(after: cursor, waiting: seconds, form: [("form", "access")])
    }

    private func revocations<Page: Decodable>(
        after cursor: String?, waiting seconds: Int, form: [(String, String)]
    ) async throws(ServiceClientError) -> Page {
        var query = [("wait", String(seconds))] + form
        if let cursor { query.append(("after", cursor)) }
        return try await send(
            .get, "/internal/revocations", query: query, timeout: .seconds(seconds + 2), idempotent: false)
    }
}

extension ServiceClient {
    /// Those of at most ``LiveSessions/most`` sessions that have not ended, and when they will.
    public func liveSessions(
        among ids: [UUID], timeout: Duration? = nil
    ) async throws(ServiceClientError) -> LiveSessions {
        try await send(
            .post, "/internal/sessions/live", body: LiveSessions(ids), timeout: timeout, idempotent: true)
    }
}
