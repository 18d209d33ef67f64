import Foundation
import GatehouseServiceContracts
import Postgres
import Sealing
import Synchronization
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityCredentials
@testable import IdentityService

@Suite struct UserTransferTests {
    private func with(_ body: (UserTransfer, PostgresPool) async throws -> Void) async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            try await body(Self.transfer(database.pool), database.pool)
        }
    }

    private static func transfer(_ pool: PostgresPool) -> UserTransfer {
        UserTransfer(store: UserTransferStore(database: pool, registry: Stores(on: pool).registry), home: nil)
    }

    private func run(
        _ transfer: UserTransfer, _ text: String, first: Int = 1, isDry: Bool = false
    ) async throws -> (summary: UserTransfer.Summary, flaws: [UserTransfer.Flaw]) {
        let files = try TemporaryFiles()
        defer { files.remove() }
        let file = try #require(FileHandle(forReadingAtPath: try files.write(text)))
        let flaws = Mutex<[UserTransfer.Flaw]>([])
        let summary = try await transfer.importUsers(from: file, first: first, isDry: isDry) { flaw in
            flaws.withLock { $0.append(flaw) }
        } progress: { _, _ in
        }
        return (summary, flaws.withLock(\.self))
    }

    private static func lines(_ numbers: some Sequence<Int>) -> String {
        numbers.map { #"{"email":"user\#($0)@example.com","displayName":"User \#($0)"}"# }.joined(separator: "\n")
    }

    private func count(_ table: String, _ pool: PostgresPool) async throws -> Int {
        try await pool.query("SELECT count(*) FROM \(unescaped: table)")[0].decode(Int.self)
    }

    @Test func manyUsersAreMadeAndTheSecondTimeNobody() async throws {
        try await with { transfer, pool in
            let text = Self.lines(1...3210)
            let dry = try await run(transfer, text, isDry: true)
            #expect(dry.summary.created == 3210 && dry.flaws == [])
            #expect(try await count("users", pool) == 0)
            let first = try await run(transfer, text)
            #expect(first.summary == UserTransfer.Summary(lines: 3210, created: 3210, through: 3210))
            let second = try await run(transfer, text)
            #expect(second.summary == UserTransfer.Summary(lines: 3210, existing: 3210, through: 3210))
            #expect(try await count("users", pool) == 3210)
            #expect(try await count("audit_entries WHERE event = 'registered' AND actor = 'operator'", pool) == 3210)
        }
    }

    /// Windows programs write it before the first line.
    @Test func aByteOrderMarkIsNoPartOfTheFirstUser() async throws {
        try await with { transfer, pool in
            let text = "\u{FEFF}" + Self.lines(1...2)
            let (summary, flaws) = try await run(transfer, text)
            #expect(summary.created == 2 && flaws == [])
            // Elsewhere it is a flaw, as in every request.
            let (other, found) = try await run(transfer, Self.lines(3...3) + "\n\u{FEFF}" + Self.lines(4...4))
            #expect(other.created == 1 && found.map(\.line) == [2])
        }
    }

    /// Two users of the former system have one address here.
    @Test(arguments: [1, 600]) func spellingsOfOneAddressAreReported(distance: Int) async throws {
        try await with { transfer, pool in
            let others = Self.lines(1...distance)
            let text = """
                {"email":"ada@xn--mnchen-3ya.example","phone":"+61 0412 345 678"}
                \(others)
                {"email":"ada@münchen.example"}
                """
            for created in [distance + 1, 0] {
                let (summary, flaws) = try await run(transfer, text)
                #expect(summary.created == created && summary.refused == 1)
                #expect(flaws.map(\.line) == [distance + 2])
                #expect(flaws.first?.reason == "email is the same address as in line 1.", "\(flaws)")
            }
            let values = try await pool.query(
                "SELECT value FROM identifiers WHERE value NOT LIKE 'user%' ORDER BY value"
            )
            .decode(String.self)
            #expect(values == ["+61412345678", "ada@xn--mnchen-3ya.example"])
        }
    }

    @Test func whatIsWrongWithALineIsToldAndTheOthersAreMade() async throws {
        try await with { transfer, pool in
            let text = """
                {"email":"ada@example.com"}

                {"email":"ada@example.com","id":"7d0fbd94-5b2b-4e9c-9d57-000000000001"}
                not JSON
                {"email":12}
                {"email":"eve@example.com","role":"NO"}
                {"phone":"+49 171 1234567","storeIds":["a","b"],"phoneVerified":true,"state":"disabled"}
                {"email":"ivy@example.com","email":"may@example.com"}
                """
            let (summary, flaws) = try await run(transfer, text)
            #expect(summary.created == 2 && summary.refused == 5 && summary.lines == 7)
            #expect(flaws.map(\.line) == [3, 4, 5, 6, 8])
            // The reason does not repeat what is in the line.
            #expect(flaws[2].reason == "email: This must be a text.", "\(flaws[2].reason)")
            let phone = try await pool.query(
                """
                SELECT u.state, u.store_ids, i.verified FROM users u JOIN identifiers i ON i.user_id = u.id
                WHERE i.value = '+491711234567'
                """)[0].decode((String, [String], Bool).self)
            #expect(phone == ("disabled", ["a", "b"], true))
        }
    }

    /// tokens refuses sessions of a user who was deleted.
    @Test func theIDOfADeletedUserIsRefused() async throws {
        try await with { transfer, pool in
            let user = UUID()
            try await pool.query(
                "INSERT INTO audit_entries (user_id, actor, event) VALUES (\(user), 'user', 'deleted')")
            let text = #"{"email":"ada@example.com","id":"\#(user)"}"#
            for isDry in [true, false] {
                let (summary, flaws) = try await run(transfer, text, isDry: isDry)
                #expect(summary.created == 0)
                #expect(flaws == [.init(line: 1, reason: "id belonged to a user who was deleted.")])
            }
            #expect(try await count("users", pool) == 0)
        }
    }

    /// tokens refuses it sessions for two years, however short the audit log is kept.
    @Test(arguments: [40, 770])
    func theIDIsRefusedForAsLongAsTokensRefusesIt(days: Int) async throws {
        try await with { transfer, pool in
            let user = UUID()
            try await pool.query(
                """
                INSERT INTO audit_entries (user_id, actor, event, at)
                VALUES (\(user), 'user', 'deleted', now() - make_interval(days => \(days)::integer))
                """)
            try await pool.query(
                "INSERT INTO audit_entries (user_id, actor, event) VALUES (\(UUID()), 'user', 'registered')")
            try await sequenceAudit(on: pool)
            let seals = AuditSealStore(database: pool, keys: .sample)
            let keys = KeyRing.sample.derived(for: "gatehouse identity audit seals")
            var last: AuditSeal?
            for entry in try await AuditSealStore.entries(after: 0, limit: 10, on: pool) {
                let seal = AuditSeal(
                    after: last, over: [entry], at: entry.at, keyID: keys.current.id, key: keys.current.secret)
                try await pool.withTransaction { try await AuditSealStore.add(seal, on: $0) }
                last = seal
            }
            let log = CapturedLog()
            for _ in 1...2 {
                await ExpiredRowStore(database: pool, auditRetention: 30, seals: seals).removeExpired(log: log)
            }
            #expect(log.lines == [])
            #expect(try await count("audit_entries WHERE event = 'deleted'", pool) == 0)
            let (summary, flaws) = try await run(transfer, #"{"email":"ada@example.com","id":"\#(user)"}"#)
            if days == 40 {
                #expect(flaws == [.init(line: 1, reason: "id belonged to a user who was deleted.")])
            } else {
                #expect(summary.created == 1 && flaws == [])
                #expect(try await count("deleted_users", pool) == 0)
            }
        }
    }

    @Test func oneThatWasBrokenOffGoesOn() async throws {
        try await with { transfer, pool in
            let text = Self.lines(1...3000)
            // Nothing can be written from a certain user on.
            try await pool.query(
                "ALTER TABLE users ADD CONSTRAINT full_up CHECK (display_name <> 'User 2500')")
            let error = await #expect(throws: UserTransfer.Interrupted.self) { try await run(transfer, text) }
            let done = try #require(error?.through)
            #expect(done == UserTransfer.batch * UserTransfer.width)
            try await pool.query("ALTER TABLE users DROP CONSTRAINT full_up")
            let rest = try await run(transfer, text, first: done + 1)
            #expect(rest.summary.lines == 3000 - done && rest.summary.refused == 0)
            #expect(try await count("users", pool) == 3000)
        }
    }

    @Test func whatIsExportedIsImportedElsewhere() async throws {
        try await with { transfer, pool in
            let key = PasswordHash(
                parameters: .floor, pepperID: "p1", salt: [UInt8](repeating: 1, count: 16),
                hash: [UInt8](repeating: 2, count: 32)
            ).phcString
            let text = """
                {"email":"ada@example.com","emailVerified":true,"passwordHash":"\(key)","role":"courier","storeIds":["a"]}
                {"apple":{"subject":"001","clientId":"com.example.app","email":"eve@example.com"},"displayName":"Eve"}
                """
            _ = try await run(transfer, text + "\n" + Self.lines(1...2500))
            func export(_ transfer: UserTransfer, after: UUID? = nil) async throws -> String {
                var text = Data()
                try await transfer.exportUsers(after: after, withHashes: true) {
                    text.append($0)
                } progress: { _ in
                }
                return String(decoding: text, as: UTF8.self)
            }
            let all = try await export(transfer)
            let lines = all.split(separator: "\n")
            #expect(lines.count == 2502 && all.contains(key))
            let middle = try JSON.decode(UserRecord.self, from: Data(lines[1999].utf8))
            #expect(try await export(transfer, after: middle.id).split(separator: "\n").count == 502)
            try await withDatabase(migrations: Migrations.all) { elsewhere in
                let other = Self.transfer(elsewhere.pool)
                let (summary, flaws) = try await run(other, all)
                #expect(summary.created == 2502 && flaws == [])
                #expect(try await export(other).split(separator: "\n").sorted() == lines.sorted())
            }
            var plain = Data()
            try await transfer.exportUsers(withHashes: false) {
                plain.append($0)
            } progress: { _ in
            }
            #expect(!String(decoding: plain, as: UTF8.self).contains("passwordHash"))
        }
    }

    @Test func aLineWithoutEndIsNotRead() async throws {
        try await with { transfer, _ in
            let text = Self.lines(1...2) + "\n{\"email\":\"" + String(repeating: "a", count: 200_000)
            await #expect(throws: UserTransfer.Interrupted.self) { try await run(transfer, text) }
        }
    }
}
