package import Contracts
import Foundation
package import Instruments
package import Logging
package import ServiceKit
import ServiceLifecycle

/// Follows the revocation feed of tokens by long polling, so that a session's access tokens end with it.
package struct RevocationFeedReader: Service {
    /// Seconds that one poll may stay open.
    package static let wait = 20

    private let sessions: RevokedSessions
    private let logger: Logger
    /// Reads the page after a cursor; `nil` starts with the whole. Ends at the latest 2 s after `wait`.
    private let fetch: @Sendable (_ cursor: String?, _ wait: Int) async throws -> RevocationPage

    var firstRetry = Duration.milliseconds(100)
    var longestRetry = Duration.seconds(1)

    private let metrics: RevocationFeedMetrics
    private let live: Gauge

    /// - Parameters:
    ///   - metrics: how it fares.
    ///   - live: how many sessions are known that may still have access tokens.
    ///   - fetch: reads the page after a cursor.
    package init(
        sessions: RevokedSessions, metrics: RevocationFeedMetrics, live: Gauge, logger: Logger,
        fetch: @escaping @Sendable (_ cursor: String?, _ wait: Int) async throws -> RevocationPage
    ) {
        self.sessions = sessions
        self.metrics = metrics
        self.live = live
        self.logger = logger
        self.fetch = fetch
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            var cursor: String?
            var metrics = metrics
            // The first page comes at once, and so are those that follow while more wait.
            var wait = 0
            var retry = firstRetry
            while !Task.isCancelled {
                do {
                    let page = try await fetch(cursor, wait)
                    apply(page)
                    metrics.read(page)
                    cursor = page.cursor
                    wait = page.more ? 0 : Self.wait
                    if retry > firstRetry { logger.notice("following the revocation feed again") }
                    retry = firstRetry
                } catch {
                    guard !Task.isCancelled else { return }
                    if retry == firstRetry {
                        logger.warning("lost the revocation feed", metadata: ["error": "\(error)"])
                    }
                    metrics.failed()
                    sessions.feedIsLost(now: Int64(Date.now.timeIntervalSince1970))
                    // What was revoked meanwhile is told at once, not at the end of a wait.
                    wait = 0
                    try? await Task.sleep(for: retry * Double.random(in: 0.5...1))
                    retry = min(retry * 2, longestRetry)
                }
            }
        }
    }

    /// A page that says `reset` starts the whole anew. What is known stays meanwhile: no revocation is ever taken back,
    /// and each is forgotten once its tokens are dead.
    private func apply(_ page: RevocationPage) {
        let now = Int64(Date.now.timeIntervalSince1970)
        sessions.apply(
            page.entries.map { ($0.sessionID, Int64($0.accessExpiresAt.timeIntervalSince1970.rounded(.up))) },
            isEnd: !page.more, now: now)
        live.set(sessions.count)
    }
}
