import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

@testable import TokensService

/// The database is lost, and a copy of it takes its place.
@Suite struct RestoreTests {
    /// Sessions end and tokens are rotated after the dump. In what is made of the dump no token opens anything: neither
    /// before an operator has said what becomes of its sessions, nor after.
    @Test func aRestoredDumpRevivesNoSessionAndForksNone() async throws {
        try await RunningTokens.with { tokens in
            let history = SessionHistory()
            try await history.beforeTheCopy(tokens)
            let dump = try await DatabaseDump(of: tokens.databaseURL)
            defer { dump.remove() }
            try await history.afterTheCopy(tokens)

            try await withDatabase { database in
                try await dump.restore(into: database.url)
                try await RunningTokens.with(databaseURL: database.url) { restored in
                    #expect(try await restored.readiness() == 503)
                    for token in history.tokens {
                        let answer = try await restored.refresh(token)
                        #expect(answer.status == 503 && answer.code == "UNAVAILABLE", "\(answer.text)")
                    }
                    let signIn = try await restored.createSession(nil, .sample())
                    #expect(signIn.status == 503, "a session that is made now would be lost to after-restore")

                    let outcome = try await Restoration(database.url).run(keepingSessions: false)
                    #expect(outcome == .ended(sessions: history.sessionsInTheCopy))
                    try await eventually("the service is ready") { try await restored.readiness() == 200 }
                    try await history.expectAllEnded(in: restored)
                    let again = try await restored.signIn()
                    #expect(try await restored.refresh(again.auth.refreshToken).status == 200)
                }
            }
        }
    }

    /// A gateway or devices goes on with the feed of the copy, and hears of every session whose access tokens may live.
    @Test func readersOfTheFeedHearOfTheSessions() async throws {
        try await TokensFixture.with { tokens in
            var ended: Set<UUID> = []
            for _ in 0..<3 { ended.insert(try await tokens.signIn().sessionID) }
            let idle = try await tokens.signIn()
            try await tokens.passTime(3 * 3600, of: idle.sessionID)
            // The answer is repeated this many seconds after the rotation. Its access token outlives that of the
            // rotation.
            let refresher = try tokens.refresher()
            for pause in [50.0, 86_400] {
                let lost = try await tokens.signIn()
                _ = try await refresher.refresh(lost)
                try await tokens.passTime(pause, of: lost.sessionID)
                _ = try await refresher.refresh(lost)
                try await tokens.passTime(3580, of: lost.sessionID)
                ended.insert(lost.sessionID)
            }
            var reader = FeedReader()
            try await reader.follow(tokens.feed())
            let dump = try await DatabaseDump(of: tokens.database.url)
            defer { dump.remove() }
            try await withDatabase { database in
                try await dump.restore(into: database.url)
                _ = try await Restoration(database.url).run(keepingSessions: false)
                try await reader.follow(RevocationFeed(database: database.pool, logger: .quiet))
                #expect(reader.seen == ended, "not the session whose access tokens have all expired")
            }
        }
    }

    /// A planned move: tokens is stopped, the database dumped and restored elsewhere.
    @Test func sessionsCanBeKeptWhereNothingWasLost() async throws {
        try await RunningTokens.with { tokens in
            let session = try await tokens.signIn()
            let dump = try await DatabaseDump(of: tokens.databaseURL)
            defer { dump.remove() }
            try await withDatabase { database in
                try await dump.restore(into: database.url)
                let outcome = try await Restoration(database.url).run(keepingSessions: true)
                #expect(outcome == .kept(sessions: 1))
                try await RunningTokens.with(databaseURL: database.url) { moved in
                    try await eventually("the service is ready") { try await moved.readiness() == 200 }
                    #expect(try await moved.refresh(session.auth.refreshToken).status == 200)
                }
            }
        }
    }

    /// A copy of the files can't be told from a standby that was promoted. The command does the same for it.
    @Test func aCopyOfTheFilesRevivesNoSessionAfterTheCommand() async throws {
        try await withPostgresServer { primary in
            try await RunningTokens.with(databaseURL: primary.url()) { tokens in
                try await eventually("the service is ready") { try await tokens.readiness() == 200 }
                let history = SessionHistory()
                try await history.beforeTheCopy(tokens)
                try await withPostgresStandby(of: primary) { copy in
                    try await copy.catchUp(with: primary)
                    try await copy.alter("primary_conninfo = ''")
                    try await history.afterTheCopy(tokens)
                    try await copy.promote()
                    let connection = try await PostgresConnection.patient(copy.url())
                    #expect(try await !DatabaseOriginStore.isRestored(connection), "that is for the operator to know")
                    await connection.close()
                    let outcome = try await Restoration(copy.url()).run(keepingSessions: false)
                    #expect(outcome == .ended(sessions: history.sessionsInTheCopy))
                    try await RunningTokens.with(databaseURL: copy.url()) { restored in
                        try await eventually("the service is ready") { try await restored.readiness() == 200 }
                        try await history.expectAllEnded(in: restored)
                    }
                }
            }
        }
    }

    @Test func onlyADumpChangesTheOrigin() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let connection = try await database.connect()
            #expect(try await !DatabaseOriginStore.isRestored(connection))
            for upkeep in ["VACUUM FREEZE database_origin", "VACUUM FULL database_origin", "CHECKPOINT"] {
                try? await connection.execute(script: upkeep)
                #expect(try await !DatabaseOriginStore.isRestored(connection), "\(upkeep)")
            }
            try await connection.query("DELETE FROM database_origin")
            #expect(try await DatabaseOriginStore.isRestored(connection), "a row that is missing proves nothing")
            await connection.close()
        }
    }
}

extension TokensFixture {
    /// Moves time by moving the session and its access tokens into the past.
    fileprivate func passTime(_ seconds: Double, of sessionID: UUID) async throws {
        try await age(sessionID, by: seconds)
        try await database.pool.query(
            """
            UPDATE sessions SET access_expires_at = access_expires_at - \(seconds) * interval '1 second'
            WHERE id = \(sessionID)
            """)
    }
}

extension Restoration {
    fileprivate init(_ databaseURL: String) throws {
        try self.init(environment: ["TOKENS_DATABASE_URL": databaseURL, "GATEHOUSE_ENVIRONMENT": "development"])
    }
}

extension RunningTokens {
    fileprivate func readiness() async throws -> Int {
        try await TestHTTPClient(replicas[0].adminURL).get("/readyz").status
    }
}
