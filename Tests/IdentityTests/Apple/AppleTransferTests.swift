import AsyncHTTPClient
import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import HTTPTypes
import Hummingbird
import NIOCore
import Postgres
import Synchronization
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityCredentials
@testable import IdentityService

/// Many users go to another team, and Apple is not always there.
@Suite struct AppleTransferTests {
    /// Apple's part: tells a name for each user, as long as it is asked no more often than it likes.
    private final class Migration: Sendable {
        struct State {
            var asked: [String: Int] = [:]
            var underWay = 0
            var mostUnderWay = 0
            /// Questions that are answered before Apple fails.
            var patience = Int.max
            var tokens = 0
        }
        let state = Mutex(State())

        func router() -> Router<BasicRequestContext> {
            let router = Router()
            router.post("auth/token") { _, _ in
                let number = self.state.withLock { state in
                    state.tokens += 1
                    return state.tokens
                }
                return Self.json(.ok, #"{"access_token":"m\#(number)","token_type":"Bearer","expires_in":3600}"#)
            }
            router.post("auth/usermigrationinfo") { request, _ in
                guard request.headers[.authorization] == "Bearer m\(self.state.withLock(\.tokens))" else {
                    return Self.json(.badRequest, #"{"error":"invalid_grant"}"#)
                }
                let text = String(buffer: try await request.body.collect(upTo: 1 << 16))
                let form = Dictionary(
                    uniqueKeysWithValues: text.split(separator: "&").map { pair in
                        let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
                        return (parts[0], parts.count == 2 ? parts[1] : "")
                    })
                let isPatient = self.state.withLock { state in
                    guard state.patience > 0 else { return false }
                    state.patience -= 1
                    state.underWay += 1
                    state.mostUnderWay = max(state.mostUnderWay, state.underWay)
                    return true
                }
                guard isPatient else { return Self.json(.serviceUnavailable, "") }
                defer { self.state.withLock { $0.underWay -= 1 } }
                await Task.yield()
                let name = form["sub"] ?? form["transfer_sub"] ?? ""
                self.state.withLock { $0.asked[name, default: 0] += 1 }
                return Self.json(
                    .ok, form["target"] == nil ? #"{"sub":"new-\#(name)"}"# : #"{"transfer_sub":"t-\#(name)"}"#)
            }
            return router
        }

        private static func json(_ status: HTTPResponse.Status, _ text: String) -> Response {
            Response(
                status: status, headers: [.contentType: "application/json"],
                body: .init(byteBuffer: ByteBuffer(string: text)))
        }
    }

    /// Runs `body` with as many users of Apple's as asked for.
    private func withUsers(
        _ count: Int,
        _ body:
            @escaping @Sendable (Migration, PostgresPool, _ transfer: (String) throws -> AppleTransfer) async throws
            -> Void
    ) async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            try await database.pool.query(
                """
                WITH made AS (
                    INSERT INTO users (id) SELECT gen_random_uuid() FROM generate_series(1, \(count)) RETURNING id
                ), linked AS (
                    INSERT INTO credentials (id, user_id, kind, subject, is_single, verified_at)
                    SELECT gen_random_uuid(), id, 'apple', 's' || row_number() OVER (), true, now() FROM made
                    RETURNING id
                )
                INSERT INTO apple_identities (credential_id, client_id) SELECT id, 'com.example.app' FROM linked
                """)
            let migration = Migration()
            let httpClient = HTTPClient(configuration: .gatehouse())
            do {
                try await withHTTPServer(migration.router()) { url in
                    try await body(migration, database.pool) { team in
                        let secret = try AppleClientSecret(
                            teamID: team, keyID: "KEY1234567", pem: TestKeys.clientSecret)
                        let server = AppleServer(
                            httpClient: httpClient, keysURL: url, tokenURL: url.appending(path: "auth/token"),
                            revokeURL: url, migrationURL: url.appending(path: "auth/usermigrationinfo"),
                            clientSecret: secret, timeout: .seconds(60))
                        return AppleTransfer(
                            store: AppleTransferStore(database: database.pool), apple: server, secret: secret,
                            pauses: [.zero, .zero])
                    }
                }
            } catch {
                try await httpClient.shutdown()
                throw error
            }
            try await httpClient.shutdown()
        }
    }

    /// Both steps are cut off in the middle, and go on with those who are left when they are repeated.
    @Test func whatWasCutOffGoesOn() async throws {
        try await withUsers(1200) { migration, database, transfer in
            let former = try transfer("TEAM000000")
            let recipient = try transfer("TEAM111111")
            func cutOff(after count: Int, _ run: () async throws -> AppleTransferSummary) async throws {
                migration.state.withLock { $0.patience = count }
                let failure = await #expect(throws: CommandFailure.self) { try await run() }
                #expect(failure?.description.contains("503") == true && failure?.description.contains("again") == true)
                migration.state.withLock { $0.patience = .max }
            }
            func pendingTransfers() async throws -> Int {
                // PostgreSQL ends a statement whose client has stopped waiting.
                try await eventually("no statement is running") {
                    try await database.query(
                        """
                        SELECT NOT EXISTS (
                            SELECT FROM pg_stat_activity
                            WHERE datname = current_database() AND pid <> pg_backend_pid()
                              AND backend_type = 'client backend' AND state <> 'idle')
                        """)[0].decode(Bool.self)
                }
                return try await database.query("SELECT count(*) FROM apple_transfers")[0].decode(Int.self)
            }
            // What was answered when the run ended may not have been kept.
            let loss = AppleTransfer.width

            try await cutOff(after: 700) { try await former.prepare(to: "TEAM111111") }
            let kept = try await pendingTransfers()
            #expect((700 - loss...700).contains(kept))
            var pages: [Int] = []
            let prepared = try await former.prepare(to: "TEAM111111") { pages.append($0.asked) }
            #expect(prepared == AppleTransferSummary(asked: 1200 - kept, done: 1200 - kept))
            #expect(pages.last == 1200 - kept && pages.first == AppleTransfer.page)

            try await cutOff(after: 300) { try await recipient.finish() }
            let left = try await pendingTransfers()
            #expect((900...900 + loss).contains(left))
            #expect(try await recipient.finish() == AppleTransferSummary(asked: left, done: left))
            #expect(try await recipient.finish() == AppleTransferSummary())
            // The transfer asked about few users twice, and not about too many at once.
            migration.state.withLock { state in
                #expect(state.asked.count == 2400)
                #expect(state.asked.values.reduce(0, +) <= 2400 + 2 * loss)
                #expect(state.mostUnderWay <= AppleTransfer.width)
            }
            let arrived = try await database.query("SELECT subject FROM credentials WHERE subject LIKE 'new-t-s%'")
            #expect(arrived.count == 1200)
            #expect(try await database.query("SELECT credential_id FROM apple_transfers").isEmpty)
        }
    }

    /// Otherwise the account would get the name of an Apple account that is not linked any more.
    @Test func whoUnlinksTheAppleAccountDoesNotTravel() async throws {
        try await withUsers(2) { migration, database, transfer in
            let former = try transfer("TEAM000000")
            _ = try await former.prepare(to: "TEAM111111")
            let user = try await database.query("SELECT user_id FROM credentials ORDER BY subject")[0]
                .decode(UUID.self)
            try await database.withRetriedTransaction { transaction in
                try await Stores(on: database).registry.removeAll(of: user, on: transaction)
            }
            #expect(try await transfer("TEAM111111").finish() == AppleTransferSummary(asked: 1, done: 1))
        }
    }

    /// The team that was meant first does not get the app after all.
    @Test func anotherRecipientIsAnotherTransfer() async throws {
        try await withUsers(3) { migration, database, transfer in
            let former = try transfer("TEAM000000")
            _ = try await former.prepare(to: "TEAM111111")
            #expect(try await former.prepare(to: "TEAM222222") == AppleTransferSummary(asked: 3, done: 3))
            #expect(try await transfer("TEAM111111").finish() == AppleTransferSummary())
            #expect(try await transfer("TEAM222222").finish() == AppleTransferSummary(asked: 3, done: 3))
        }
    }
}
