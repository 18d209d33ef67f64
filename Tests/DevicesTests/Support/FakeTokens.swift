import Contracts
import Foundation
import Hummingbird
import NIOCore
import TestKit

/// A revocation feed whose pages the test chooses.
actor FakeFeed {
    private var entries: [RevocationPage.Entry] = []
    /// The cursors that were asked for.
    private(set) var asked: [String?] = []
    private var generation = 1
    private var isDown = false

    func revoke(_ session: UUID, accessExpiresAt: Date = .now + 3600) {
        entries.append(
            RevocationPage.Entry(
                sessionID: session, userID: UUID(), revokedAt: .now, accessExpiresAt: accessExpiresAt, reason: .logout))
    }

    func setDown(_ isDown: Bool) {
        self.isDown = isDown
    }

    /// Forgets the cursors that were given out, as a restored database does.
    func forgetCursors() {
        generation += 1
    }

    func note(_ cursor: String?) {
        asked.append(cursor)
    }

    /// The page after the cursor; `nil` while there are no new entries.
    func page(after cursor: String?) throws -> RevocationPage? {
        guard !isDown else { throw HTTPError(.serviceUnavailable) }
        let parts = cursor?.split(separator: ".").compactMap { Int($0) } ?? [generation, 0]
        let isKnown = parts.count == 2 && parts[0] == generation
        let position = isKnown ? parts[1] : 0
        guard position < entries.count || !isKnown else { return nil }
        return RevocationPage(
            entries: Array(entries[position...]), cursor: "\(generation).\(entries.count)", reset: !isKnown,
            more: false)
    }
}

/// Serves a feed as tokens does, long polls included.
func withFakeTokens(_ body: @Sendable (FakeFeed, URL) async throws -> Void) async throws {
    let feed = FakeFeed()
    let router = Router()
    router.get("/internal/revocations") { request, _ -> Response in
        guard request.headers[.init(HeaderName.credential)!] == "dev-devices-tokens" else {
            throw HTTPError(.forbidden)
        }
        let cursor = request.uri.queryParameters["after"].map { String($0) }
        let wait = request.uri.queryParameters["wait"].flatMap { Int(String($0)) } ?? 0
        await feed.note(cursor)
        let end = ContinuousClock.now + .seconds(wait)
        while ContinuousClock.now < end {
            if let page = try await feed.page(after: cursor) {
                let bytes = ByteBuffer(bytes: try JSON.encode(page))
                return Response(
                    status: .ok, headers: [.contentType: "application/json"], body: ResponseBody(byteBuffer: bytes))
            }
            try await Task.sleep(for: .milliseconds(5))
        }
        let empty = RevocationPage(entries: [], cursor: cursor ?? "1.0", reset: false, more: false)
        return Response(status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(bytes: try JSON.encode(empty))))
    }
    try await withHTTPServer(router) { url in try await body(feed, url) }
}
