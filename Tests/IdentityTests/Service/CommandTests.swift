import Crypto
import Foundation
import GatehouseServiceContracts
import NIOHTTP1
import Postgres
import Sealing
import Synchronization
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityService

extension AdministrationServiceTests {
    /// The program itself, as operators call it.
    @Suite struct CommandTests {
        /// What `identity` prints when it is called with these words.
        /// - Returns: its output and errors, and its exit status.
        private func identity(
            _ arguments: [String], settings: [String: String], input: String? = nil
        ) async throws -> (output: String, status: Int32) {
            let files = try TemporaryFiles()
            defer { files.remove() }
            let output = try files.write("")
            let source = try files.write(input ?? "")
            let environment = settings.merging(["PATH": ProcessInfo.processInfo.environment["PATH"] ?? ""]) { $1 }
            let program = BuiltPrograms.path(of: "identity")
            let process = try TestProcess(
                "/bin/sh", ["-c", #"exec "$0" "$@" < "$INPUT""#, program] + arguments,
                environment: environment.merging(["INPUT": source]) { $1 }, output: URL(filePath: output))
            let status = await process.waitForExit()
            return (try String(contentsOfFile: output, encoding: .utf8), status)
        }

        @Test func hashesAreMeasured() async throws {
            let found = try await identity(
                ["passwords", "calibrate", "--milliseconds", "1", "--threads", "1"], settings: [:])
            #expect(found.status == 0, "\(found.output)")
            let floor = [
                "IDENTITY_HASHING_MEMORY=19456", "IDENTITY_HASHING_ITERATIONS=2", "IDENTITY_HASHING_PARALLELISM=1",
            ]
            #expect(floor.allSatisfy(found.output.contains), "\(found.output)")
            let refused = try await identity(["passwords", "calibrate", "--memory", "19455"], settings: [:])
            #expect(refused.status != 0 && refused.output.contains("19456 to 131072"))
        }

        /// From the list to the refusal: the command, the setting, and each way to a new password.
        @Test func breachedPasswordsAreRefused() async throws {
            let files = try TemporaryFiles()
            defer { files.remove() }
            let list = try files.write("\(Self.sha1("kaffeekuchen")):7\n")
            let filter = try files.write("")
            let made = try await identity(["passwords", "filter", "build", list, "--output", filter], settings: [:])
            #expect(made.status == 0 && made.output.contains("1 hashes, 128 bytes"), "\(made.output)")
            let refused = try await identity(["passwords", "filter", "build", filter], settings: [:])
            #expect(refused.status != 0)

            try await withIdentity(["IDENTITY_BREACHED_PASSWORDS_FILE": filter]) { service in
                let user = try await service.register("ada@example.com").user.id
                let registered = try await service.post(
                    "/v1/auth/register", RegisterRequest(identifier: "eve@example.com", password: "kaffeekuchen"))
                #expect(registered.code == "WEAK_PASSWORD")
                let changed = try await service.send(
                    .POST, "/v1/auth/password", as: user,
                    json: #"{"currentPassword":"tulpenzwiebel","newPassword":"kaffeekuchen"}"#)
                #expect(changed.code == "WEAK_PASSWORD")
                let reset = try await service.post(
                    "/v1/auth/password/reset", ResetPasswordRequest(token: "ghpr_x", newPassword: "kaffeekuchen"))
                #expect(reset.code == "WEAK_PASSWORD")
                let created = try await identity(
                    ["users", "create", "--identifier", "eve@example.com", "--password-stdin"],
                    settings: service.settings, input: "kaffeekuchen\n")
                #expect(created.status != 0 && created.output.contains("known from a breach"), "\(created.output)")
            }
            let checked = try await identity(
                ["check-config"], settings: ["IDENTITY_BREACHED_PASSWORDS_FILE": list])
            #expect(checked.status != 0 && checked.output.contains("IDENTITY_BREACHED_PASSWORDS_FILE"))
        }

        private static func sha1(_ text: String) -> String {
            Insecure.SHA1.hash(data: Data(text.utf8)).map { String(format: "%02X", $0) }.joined()
        }

        @Test func usersAreMadeAndChanged() async throws {
            try await withIdentity { service in
                let settings = service.settings
                let made = try await identity(
                    ["users", "create", "--identifier", "ada@example.com", "--password-stdin", "--store", "köln"],
                    settings: settings, input: "tulpenzwiebel\nnot this\n")
                #expect(made.status == 0, "\(made.output)")
                #expect(try await service.login("ada@example.com").status == 200)
                let refused = try await identity(
                    ["users", "create", "--identifier", "eve@example.com"], settings: settings)
                #expect(refused.status != 0 && refused.output.contains("--password-stdin"))
                let role = try await identity(
                    ["users", "set-role", "ada@example.com", "courier", "--no-stores"], settings: settings)
                #expect(role.status == 0, "\(role.output)")
                for words in [
                    ["add-identifier", "ada@example.com", "+49 171 1234567"],
                    ["remove-identifier", "ada@example.com"],
                    ["add-identifier", "+491711234567", "bea@example.com"],
                    ["move-identifier", "bea@example.com", "+491711234567"],
                    ["add-identifier", "+491711234567", "ada@example.com"],
                    ["remove-identifier", "+491711234567"],
                ] {
                    let changed = try await identity(["users"] + words, settings: settings)
                    #expect(changed.status == 0, "\(words) \(changed.output)")
                }
                let last = try await identity(["users", "remove-identifier", "ada@example.com"], settings: settings)
                #expect(last.status != 0 && last.output.contains("the only way to sign in"), "\(last.output)")
                let disabled = try await identity(["users", "disable", "ada@example.com"], settings: settings)
                #expect(disabled.status == 0, "\(disabled.output)")
                #expect(try await service.login("ada@example.com").code == "ACCOUNT_DISABLED")
                let list = try await identity(["users", "list"], settings: settings)
                struct Line: Decodable {
                    var user: User
                    var state: String
                }
                let lines = try list.output.split(separator: "\n").map {
                    try JSON.decode(Line.self, from: Data($0.utf8))
                }
                #expect(lines.count == 1)
                #expect(lines.first?.user.email == "ada@example.com" && lines.first?.user.role == "courier")
                #expect(lines.first?.user.storeIds == [] && lines.first?.state == "disabled")
            }
        }

        @Test func whatIsStillPendingIsSaid() async throws {
            try await withIdentity { service in
                _ = try await service.register("ada@example.com")
                service.tokens.state.withLock { $0.isDown = true }
                let disabled = try await identity(["users", "disable", "ada@example.com"], settings: service.settings)
                #expect(disabled.status == 0)
                #expect(disabled.output.contains(#""pending":["revoke_sessions","snapshot"]"#), "\(disabled.output)")
                #expect(disabled.output.contains("sessions have not ended yet"), "\(disabled.output)")
            }
        }

        @Test func theAuditLogIsReadAndChecked() async throws {
            try await withIdentity { service in
                let user = try await service.register("ada@example.com").user.id
                let settings = service.settings
                #expect(try await identity(["users", "disable", "ada@example.com"], settings: settings).status == 0)
                let list = try await identity(["audit", "list", "--user", user.uuidString], settings: settings)
                #expect(list.status == 0, "\(list.output)")
                struct Line: Decodable {
                    var id: Int64
                    var event: String
                    var actor: String
                    var actorId: String?
                }
                func lines(_ text: String) throws -> [Line] {
                    try text.split(separator: "\n").map { try JSON.decode(Line.self, from: Data($0.utf8)) }
                }
                let entries = try lines(list.output)
                #expect(entries.map(\.event) == ["disabled", "signed_in", "registered"])
                #expect(entries.first?.actor == "operator" && entries.first?.actorId?.isEmpty == false)
                let next = try await identity(
                    ["audit", "list", "--limit", "1", "--before", "\(entries[0].id)"], settings: settings)
                #expect(try lines(next.output).map(\.event) == ["signed_in"])

                let seals = AuditSealStore(
                    database: service.database,
                    keys: try KeyRing(
                        String(contentsOfFile: settings["IDENTITY_PEPPER_KEYS_FILE"]!, encoding: .utf8)))
                // The service seals, too.
                try await eventually("all is sealed") {
                    _ = try await seals.seal()
                    return try await seals.oldestUnsealedAge() == nil
                }
                struct Report: Decodable {
                    var isIntact: Bool
                    var entries: Int
                    var sealsWithoutKey: Int
                    var head: String?
                }
                let good = try await identity(["audit", "verify"], settings: settings)
                #expect(good.status == 0, "\(good.output)")
                let report = try JSON.decode(Report.self, from: Data(good.output.utf8))
                #expect(report.isIntact && report.entries == 3 && report.sealsWithoutKey == 0)
                let head = try #require(report.head)
                #expect(try await identity(["audit", "verify", "--noted", head], settings: settings).status == 0)
                try await service.database.query("ALTER TABLE audit_entries DISABLE TRIGGER USER")
                try await service.database.query("DELETE FROM audit_entries WHERE event = 'disabled'")
                let bad = try await identity(["audit", "verify", "--noted", head], settings: settings)
                #expect(bad.status == 1 && bad.output.contains(" are there."), "\(bad.output)")
            }
        }

        @Test func settingsAreChecked() async throws {
            try await withIdentity { service in
                let good = try await identity(["check-config"], settings: service.settings)
                #expect(good.status == 0 && good.output.contains("are valid (development)"), "\(good.output)")
                var wrong = service.settings
                wrong["IDENTITY_TOKENS_URL"] = nil
                wrong["IDENTITY_APPLE_NONCE"] = "maybe"
                let bad = try await identity(["check-config"], settings: wrong)
                #expect(bad.status == 78)
                // All that is wrong at once.
                #expect(bad.output.contains("IDENTITY_TOKENS_URL") && bad.output.contains("IDENTITY_APPLE_NONCE"))
            }
        }

        @Test func theSchemaGoesUpAndDown() async throws {
            try await withDatabase { database in
                // Of the settings only this one is needed.
                let settings = [
                    "IDENTITY_DATABASE_URL": database.url, "GATEHOUSE_ENVIRONMENT": "development",
                ]
                func migrate(_ words: String...) async throws -> String {
                    let (output, status) = try await identity(["migrate"] + words, settings: settings)
                    #expect(status == 0, "\(output)")
                    return output
                }
                let steps = Migrations.all.steps.map { "\($0.number)_\($0.name)" }
                let names = steps + Migrations.all.files.map { "\($0.name).sql" }
                func states() async throws -> [Substring] { try await migrate("status").split(separator: "\n") }
                let pending = try await states()
                #expect(pending.count == names.count && pending.allSatisfy { $0.hasSuffix(": pending") })
                #expect(zip(pending, names).allSatisfy { $0.hasPrefix($1) })
                #expect(try await migrate("up") == "Taken: \(names.joined(separator: ", ")).\n")
                #expect(try await states().allSatisfy { $0.hasSuffix(": applied") })
                #expect(try await migrate("up") == "Nothing to do.\n")
                let users = try await database.pool.query("SELECT id FROM users")
                #expect(users.isEmpty)
                #expect(try await migrate("down", "--to", "0").hasPrefix("Taken back: "))
                let tables = try await database.pool.query(
                    """
                    SELECT tablename::text FROM pg_tables
                    WHERE schemaname = 'public' AND tablename IN ('users', 'outbox')
                    """
                ).decode(String.self)
                #expect(tables == [])
            }
        }
    }
}
