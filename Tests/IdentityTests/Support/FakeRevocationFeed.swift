import Contracts
import Foundation
import Hummingbird
import NIOCore
import Synchronization

/// tokens' revocation feed, as a test fills it.
struct FakeRevocationFeed: Sendable {
    private var entries: [RevocationPage.Entry] = []
    /// Counts up where tokens has lost its history: cursors of before mean nothing.
    var generation = 1
    var pageSize = 1000
    var isDown = false
    /// Whether it can say where it ends.
    var knowsLatest = true
    /// Requests that were answered or refused.
    var asked = 0
    /// Requests that are being answered.
    var reading = 0
    /// The most of them at a time.
    var mostReading = 0

    mutating func end(_ session: UUID, of user: UUID, at time: Date = .now, reason: RevocationReason = .logout) {
        entries.append(
            RevocationPage.Entry(
                sessionID: session, userID: user, revokedAt: time, accessExpiresAt: time + 3600, reason: reason))
    }

    /// The page after the cursor, which is `generation.position`; `nil` while there are no new entries.
    func page(after cursor: String?) -> RevocationPage? {
        if cursor == RevocationPage.latest, knowsLatest {
            return RevocationPage(entries: [], cursor: "\(generation).\(entries.count)", reset: false, more: false)
        }
        let parts = cursor?.split(separator: ".").compactMap { Int($0) } ?? [generation, 0]
        guard parts.count == 2, parts[0] == generation else {
            return RevocationPage(entries: [], cursor: "\(generation).0", reset: true, more: true)
        }
        guard parts[1] < entries.count else { return nil }
        let end = min(entries.count, parts[1] + pageSize)
        return RevocationPage(
            entries: Array(entries[parts[1]..<end]), cursor: "\(generation).\(end)", reset: false,
            more: end < entries.count)
    }
}

extension FakeTokens {
    /// The feed, a long poll.
    func addFeed(to router: Router<BasicRequestContext>) {
        router.get("internal/revocations") { request, _ in
            let credential = request.headers[.init(HeaderName.credential)!]
            guard let credential, Self.credentials.contains(credential) else { throw HTTPError(.forbidden) }
            let cursor = request.uri.queryParameters["after"].map { String($0) }
            let wait = request.uri.queryParameters["wait"].flatMap { Int(String($0)) } ?? 0
            let end = ContinuousClock.now + .seconds(wait)
            self.state.withLock { state in
                state.feed.asked += 1
                state.feed.reading += 1
                state.feed.mostReading = max(state.feed.mostReading, state.feed.reading)
            }
            defer { self.state.withLock { $0.feed.reading -= 1 } }
            while true {
                let page = try self.state.withLock { state in
                    if state.isDown || state.feed.isDown { throw HTTPError(.serviceUnavailable) }
                    return state.feed.page(after: cursor)
                }
                if page != nil || .now >= end {
                    let page = page ?? RevocationPage(entries: [], cursor: cursor ?? "1.0", reset: false, more: false)
                    return Response(
                        status: .ok, headers: [.contentType: "application/json"],
                        body: .init(byteBuffer: ByteBuffer(bytes: try JSON.encode(page))))
                }
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }
}
