import Foundation
import GatehouseServiceContracts
import NIOHTTP1
import Postgres
import Synchronization
import TestKit
import Testing

@testable import IdentityCore

extension AdministrationServiceTests {
    /// What operators see of what happened, and what is noted of operators.
    @Suite struct AdminLogTests {
        @Test func eachCallIsNotedWithWhoMadeItAndFromWhere() async throws {
            try await withOperator { admin in
                let id = try await admin.identity.register("ada@example.com").user.id
                let path = "/users/\(id.path)"
                admin.identity.devices.state.withLock { $0.registered = [] }
                for read in ["", "/sessions", "/devices"] {
                    #expect(try await admin.send(.GET, path + read).status == 200)
                }
                #expect(try await admin.send(.POST, path + "/disable").status == 200)
                #expect(try await admin.ask(.POST, path + "/enable", name: "Grace\u{202E} H").status == 200)
                #expect(try await admin.ask(.GET, path).status == 200)
                #expect(try await admin.send(.GET, "/users?identifier=ada").status == 200)
                let entries = try await admin.entries("user=\(id.path)")
                #expect(
                    entries.map(\.action) == [
                        "viewed", "enabled", "disabled", "viewed", "viewed", "viewed", "signed_in", "registered",
                    ])
                #expect(entries.map(\.detail)[3...5] == ["devices", "sessions", "user"])
                #expect(entries[2].by == .init(kind: "operator", id: admin.operatorID.path))
                #expect(entries[2].address != nil && entries[2].user == id.path)
                #expect(entries[1].by == .init(kind: "operator", name: "admin: Grace H"))
                #expect(entries[0].by == .init(kind: "operator", name: "admin"))
                #expect(entries[7].by == .init(kind: "user", id: id.path))
                // Lists concern no particular user, and reading the log is recorded, too.
                let viewed = try await admin.entries("action=viewed")
                #expect(viewed.prefix(2).map(\.detail) == ["audit", "users"])
                #expect(viewed[0].user == id.path && viewed[1].user == nil)
                let seals = AuditSealStore(database: admin.identity.database, keys: .sample)
                try await eventually("all is sealed") {
                    _ = try await seals.seal()
                    return try await seals.oldestUnsealedAge() == nil
                }
                #expect(try await seals.verify(days: nil).flaws == [])
            }
        }

        @Test func theLogIsPagedAndFiltered() async throws {
            try await withOperator { admin in
                let user = UUID()
                try await admin.identity.database.query(
                    """
                    INSERT INTO audit_entries (at, user_id, actor, event)
                    VALUES ('2025-12-31 00:00Z', \(user), 'operator', 'disabled')
                    """)
                try await admin.identity.database.query(
                    """
                    INSERT INTO audit_entries (at, user_id, actor, event)
                    SELECT '2026-01-01 00:00Z'::timestamptz + (n / 3) * interval '1 hour', \(user), 'user',
                        CASE WHEN n % 2 = 0 THEN 'signed_in' ELSE 'profile_changed' END
                    FROM generate_series(0, 299) n
                    """)
                func all(_ query: String) async throws -> [AdminAuditEntry] {
                    var (seen, after): ([AdminAuditEntry], String?) = ([], nil)
                    repeat {
                        let next = after.map { "&after=\($0)" } ?? ""
                        let page: AdminAuditList = try await admin.send(
                            .GET, "/audit?limit=70&" + query + next
                        ).decode()
                        seen += page.entries
                        after = page.next
                    } while after != nil && seen.count < 1000
                    return seen
                }
                let own = try await all("user=\(user.path)")
                // The pages that were read before stand there, too.
                let rest = own.filter { $0.action != "viewed" }
                #expect(rest.count == 301 && Set(rest.map(\.id)).count == 301)
                #expect(rest.map(\.at) == rest.map(\.at).sorted(by: >) && rest.last?.action == "disabled")
                let until = "until=2026-01-02T00:00:00Z"
                #expect(try await all(until).count == 73)
                #expect(try await all(until + "&since=2026-01-01T00:00:00Z").count == 72)
                #expect(try await all(until + "&action=signed_in").count == 36)
                #expect(try await all("since=2026-01-05T03:00:00Z&user=\(user.path)&action=signed_in").count == 1)
                #expect(try await all("user=\(UUID())").isEmpty)
                #expect(try await all("user=\(user.path)&except=viewed").map(\.id) == rest.map(\.id))
                #expect(try await all(until + "&except=signed_in").count == 37)
                for query in [
                    "user=ada", "action=nothing", "since=yesterday", "until=1",
                    "since=0000-01-01T00:00:00Z", "until=294277-01-01T00:00:00Z", "after=7", "limit=0", "user=",
                    "since=",
                    "except=nothing",
                ] {
                    #expect(try await admin.send(.GET, "/audit?" + query).code == "INVALID_REQUEST", "\(query)")
                }
            }
        }

        @Test func figuresCountWhatIsThere() async throws {
            try await withOperator { admin in
                let id = try await admin.identity.register("ada@example.com").user.id
                try await admin.identity.database.query(
                    """
                    INSERT INTO audit_entries (at, user_id, actor, event, count)
                    VALUES (now() - interval '2 hours', \(id), 'unknown', 'sign_in_refused', 40),
                        (now() - interval '1 minute', \(id), 'unknown', 'sign_in_refused', 2),
                        (now() - interval '25 hours', \(id), 'unknown', 'sign_in_refused', 100)
                    """)
                #expect(try await admin.send(.POST, "/users/\(id.path)/disable").status == 200)
                let figures: AdminFigures = try await admin.send(.GET, "/figures").decode()
                #expect(figures.users == 2 && figures.disabledUsers == 1 && figures.pendingDeletions == 0)
                #expect(figures.signIns == .init(hour: 2, day: 2) && figures.registrations == .init(hour: 2, day: 2))
                #expect(figures.refusedSignIns == .init(hour: 2, day: 42))
                #expect(abs(figures.asOf.timeIntervalSinceNow) < 60 && figures.mostCounted == 10_000)
                let hours = try #require(figures.hours)
                #expect(hours.count == 24 && hours.map(\.from) == hours.map(\.from).sorted())
                #expect(hours.map(\.signIns).reduce(0, +) == 2 && hours.map(\.refusedSignIns).reduce(0, +) == 42)
                #expect(hours.map(\.registrations).reduce(0, +) == 2)
                #expect(hours.last.map { figures.asOf.timeIntervalSince($0.from) < 3600 } == true)
                try await admin.identity.database.query(
                    "INSERT INTO users (id) SELECT gen_random_uuid() FROM generate_series(1, 10100)")
                try await admin.identity.database.query("ANALYZE users")
                let more: AdminFigures = try await admin.send(.GET, "/figures").decode()
                #expect((10_001...10_200).contains(more.users), "PostgreSQL's estimate")
            }
        }
    }
}
