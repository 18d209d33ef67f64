import AsyncHTTPClient
import Foundation
import GatehouseServiceContracts
import Hummingbird
import NIOCore
import Postgres
import Synchronization
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityCredentials
@testable import IdentityService

@Suite struct WebhookWorkerTests {
    /// A receiver that takes events, or does not.
    private final class Receiver: Sendable {
        struct State {
            var isDown = false
            var pages: [AccountEventPage] = []
            var attempts = 0
            var forged = 0
        }

        let state = Mutex(State())
        let secret = "a secret of theirs"

        var events: [AccountEvent] { state.withLock { $0.pages.flatMap(\.events) } }

        func router() -> Router<BasicRequestContext> {
            let router = Router()
            router.post("/events") { request, _ in
                let body = try await request.body.collect(upTo: 1 << 20)
                let field = request.headers[.init("Gatehouse-Signature")!] ?? ""
                let seconds = field.dropFirst(2).prefix { $0 != "," }
                let time = Date(timeIntervalSince1970: Double(seconds) ?? 0)
                let own = HookSignature.value(of: Array(buffer: body), at: time, secret: self.secret)
                let isGenuine = field == own && abs(time.timeIntervalSinceNow) < 300
                let page = try JSON.decode(AccountEventPage.self, from: Data(body.readableBytesView))
                return self.state.withLock { state in
                    state.attempts += 1
                    if !isGenuine { state.forged += 1 }
                    if state.isDown { return Response(status: .internalServerError) }
                    state.pages.append(page)
                    return Response(status: .noContent)
                }
            }
            return router
        }
    }

    private func with(
        _ body: @Sendable (PostgresPool, WebhookWorker, Webhook, Receiver, CapturedLog) async throws -> Void
    ) async throws {
        let receiver = Receiver()
        try await withDatabase(migrations: Migrations.all) { database in
            try await withHTTPServer(receiver.router()) { url in
                let webhook = Webhook(url: url.appending(path: "events"), secret: receiver.secret)
                let log = CapturedLog()
                let worker = WebhookWorker(
                    webhooks: [webhook], store: WebhookStore(database: database.pool),
                    feed: EventFeedStore(database: database.pool, pageSize: 3, logger: .quiet),
                    sender: WebhookSender(httpClient: HTTPClient.shared), retention: 730, logger: log.logger)
                try await body(database.pool, worker, webhook, receiver, log)
            }
        }
    }

    /// Works on the webhook as if all waiting were over, until nothing waits.
    private func drain(_ worker: WebhookWorker, _ webhook: Webhook, _ pool: PostgresPool) async throws {
        var more = true
        while more {
            try await sequenceAudit(on: pool)
            try await pool.query("UPDATE webhooks SET next_attempt_at = now()")
            more = await worker.work(on: webhook)
        }
    }

    @Test func whatHappensIsToldInOrderFromNowOn() async throws {
        try await with { pool, worker, webhook, receiver, log in
            try await AuditStore.record(.registered, UUID(), by: .user, on: pool)
            try await drain(worker, webhook, pool)
            let user = UUID()
            let told: [AuditEvent] = [
                .registered, .signedIn, .signInRefused, .passwordChanged, .disabled, .enabled, .deleted,
            ]
            for event in told { try await AuditStore.record(event, user, by: .user, on: pool) }
            try await drain(worker, webhook, pool)
            #expect(
                receiver.events.map(\.type) == [
                    .userCreated, .sessionCreated, .passwordChanged, .userDisabled, .userEnabled, .userDeleted,
                ])
            #expect(receiver.events.allSatisfy { $0.userID == user })
            #expect(receiver.state.withLock { $0.forged } == 0)
            #expect(log.lines == [])
            // Nothing comes twice without need.
            try await drain(worker, webhook, pool)
            #expect(receiver.events.count == 6)
        }
    }

    @Test func whatIsRefusedIsSentAgainAndNothingOvertakesIt() async throws {
        try await with { pool, worker, webhook, receiver, log in
            try await drain(worker, webhook, pool)
            receiver.state.withLock { $0.isDown = true }
            try await AuditStore.record(.registered, UUID(), by: .user, on: pool)
            for _ in 0..<3 { try await drain(worker, webhook, pool) }
            let waiting = try await WebhookStore(database: pool).standings()
            #expect(waiting.first?.attempts == 3 && waiting.first?.oldestAge != nil)
            #expect(log.lines.count == 3)
            try await AuditStore.record(.deleted, UUID(), by: .user, on: pool)
            receiver.state.withLock { $0.isDown = false }
            try await drain(worker, webhook, pool)
            #expect(receiver.events.map(\.type) == [.userCreated, .userDeleted])
            let done = try await WebhookStore(database: pool).standings()
            #expect(done.first?.attempts == 0 && done.first?.oldestAge == nil && done.first?.deliveredAt != nil)
        }
    }

    @Test func anAttemptThatFailedWaitsBeforeTheNext() async throws {
        try await with { pool, worker, webhook, receiver, _ in
            try await drain(worker, webhook, pool)
            receiver.state.withLock { $0.isDown = true }
            try await AuditStore.record(.registered, UUID(), by: .user, on: pool)
            for _ in 0..<8 { try await drain(worker, webhook, pool) }
            let attempts = receiver.state.withLock(\.attempts)
            #expect(attempts == 8)
            // The ninth is due in half a minute and more.
            #expect(await !worker.work(on: webhook))
            #expect(receiver.state.withLock(\.attempts) == attempts)
        }
    }

    @Test func replicasDoNotDoTheSameAtTheSameTime() async throws {
        try await with { pool, worker, webhook, receiver, _ in
            try await drain(worker, webhook, pool)
            for _ in 0..<2 { try await AuditStore.record(.registered, UUID(), by: .user, on: pool) }
            try await sequenceAudit(on: pool)
            try await pool.query("UPDATE webhooks SET next_attempt_at = now()")
            await withDiscardingTaskGroup { group in
                for _ in 0..<8 { group.addTask { _ = await worker.work(on: webhook) } }
            }
            #expect(receiver.events.count == 2)
        }
    }

    @Test func whatWasSentIsSentAgainWhenAnOperatorSaysSo() async throws {
        try await with { pool, worker, webhook, receiver, _ in
            try await drain(worker, webhook, pool)
            let administration = WebhookAdministration(
                store: WebhookStore(database: pool), feed: EventFeedStore(database: pool, logger: .quiet))
            for _ in 0..<4 { try await AuditStore.record(.registered, UUID(), by: .user, on: pool) }
            try await drain(worker, webhook, pool)
            let first = try #require(receiver.state.withLock { $0.pages.first })
            try await administration.replay(webhook.url.absoluteString, after: first.cursor)
            try await drain(worker, webhook, pool)
            #expect(receiver.events.count == 5)
            #expect(receiver.events[3].id == receiver.events[4].id)
            try await administration.replay(webhook.url.absoluteString, after: "")
            try await drain(worker, webhook, pool)
            #expect(receiver.events.count == 9)
            // And what waits is skipped.
            try await AuditStore.record(.registered, UUID(), by: .user, on: pool)
            try await administration.replay(webhook.url.absoluteString, after: EventFeedStore.latest)
            try await drain(worker, webhook, pool)
            #expect(receiver.events.count == 9)
            await #expect(throws: CommandFailure.self) {
                try await administration.replay("http://example.com", after: "")
            }
        }
    }

    /// PostgreSQL has lost what it had last, so that the cursor means nothing any more.
    @Test func afterALossNothingIsMissingAndLittleIsSentTwice() async throws {
        try await with { pool, worker, webhook, receiver, _ in
            try await pool.query(
                """
                INSERT INTO audit_entries (at, user_id, actor, event)
                SELECT now() - interval '2 hours', gen_random_uuid(), 'user', 'registered' FROM generate_series(1, 5)
                """)
            try await drain(worker, webhook, pool)
            try await AuditStore.record(.enabled, UUID(), by: .user, on: pool)
            try await drain(worker, webhook, pool)
            try await AuditStore.record(.disabled, UUID(), by: .user, on: pool)
            try await pool.query("ALTER TABLE audit_log DISABLE TRIGGER USER")
            try await pool.query("UPDATE audit_log SET tag = tag + 1")
            try await drain(worker, webhook, pool)
            #expect(receiver.events.map(\.type) == [.userEnabled, .userEnabled, .userDisabled])
            #expect(receiver.state.withLock { $0.pages.allSatisfy { !$0.reset } })
        }
    }
}
