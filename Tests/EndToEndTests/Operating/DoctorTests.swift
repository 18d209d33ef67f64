import Foundation
import Postgres
import TestKit
import Testing

/// `<service> doctor` against a whole system: what is well is called fine, and each fault by its name.
@Suite(.gatehouse(tokensReplicas: 2), .serialized) struct DoctorTests {
    let system = GatehouseSystem.current

    /// The tests' PostgreSQL runs without fsync, which is one more fault on purpose.
    private static let faultOfTests = "PostgreSQL runs with fsync=off"

    @Test(arguments: ["gateway", "identity", "tokens", "devices"])
    func ofAHealthySystemOnlyTheTestsOwnFaultIsReported(_ name: String) async throws {
        let said = try await doctor(of: system.process(name))
        let complaints = said.filter { $0.hasPrefix("problem") || $0.hasPrefix("warning") }
        #expect(complaints.allSatisfy { $0.contains(Self.faultOfTests) || $0.contains("files may be open") }, "\(said)")
        #expect(said.contains { $0.hasSuffix("runs here and is ready.") }, "\(said)")
    }

    @Test func aCredentialThatIsNotAccepted() async throws {
        let names = ["GATEWAY_IDENTITY_CREDENTIAL", "GATEWAY_DEVICES_CREDENTIAL"]
        let settings = Dictionary(uniqueKeysWithValues: names.map { ($0, "dev-something-else") })
        try await expect("gateway", settings) { said in
            names.allSatisfy { name in said.contains { $0.contains("does not accept the credential in \(name)") } }
        }
        try await expect("devices", ["DEVICES_TOKENS_CREDENTIAL": "dev-something-else"]) { said in
            said.filter { $0.contains("does not accept the credential in DEVICES_TOKENS_CREDENTIAL") }.count == 2
        }
    }

    @Test func aServiceThatDoesNotRespond() async throws {
        let unused = "http://127.0.0.1:\(try freePort())"
        try await expect("identity", ["IDENTITY_DEVICES_URL": unused]) { said in
            said.contains {
                $0.hasPrefix("problem") && $0.contains("devices at \(unused) gives no answer: it refuses connections.")
            }
        }
    }

    @Test func postgresAndRedisThatDoNotRespond() async throws {
        let port = try freePort()
        let settings = [
            "TOKENS_DATABASE_URL": "postgres://tokens:secret-password@127.0.0.1:\(port)/tokens",
            "TOKENS_REDIS_URL": "redis://127.0.0.1:\(port)",
        ]
        try await expect("tokens", settings) { said in
            let text = said.joined(separator: "\n")
            return text.contains("PostgreSQL cannot be used: it refuses connections.")
                && text.contains("Redis gives no answer: it refuses connections.") && !text.contains("secret-password")
        }
    }

    @Test func aRedisThatRefusesThePassword() async throws {
        try await withRedisServer(password: "right") { redis in
            let url = redis.url.replacing("right", with: "wrong-password")
            try await expect("tokens", ["TOKENS_REDIS_URL": url]) { said in
                said.contains { $0.hasPrefix("warning  Redis gives no answer: WRONGPASS") }
                    && !said.contains { $0.contains("RedisError") || $0.contains("wrong-password") }
            }
        }
    }

    @Test func aMigrationThatIsMissing() async throws {
        try await system.process("devices").run(["migrate", "down", "--to", "0"])
        let said = try await doctor(of: system.process("devices"))
        try await system.process("devices").run(["migrate", "up"])
        #expect(said.contains { $0.contains("lacks migrations: 1_") }, "\(said)")
        #expect(said.contains { $0.contains("Run `devices migrate up`") }, "\(said)")
    }

    @Test func aDatabaseThatWasRestoredFromADump() async throws {
        // What stands there after a dump was restored: the number of another transaction than the row's own.
        try await system.withDatabase(of: "tokens") {
            try await $0.execute(script: "UPDATE database_origin SET transaction_id = '1'")
        }
        let said = try await doctor(of: system.process("tokens"))
        let repaired = try await system.process("tokens").run(["after-restore", "--keep-sessions"])
        #expect(said.contains { $0.contains("The database was made of a dump") }, "\(said)")
        #expect(repaired.contains("tokens may use this database now"))
        #expect(try await !doctor(of: system.process("tokens")).contains { $0.contains("made of a dump") })
    }

    @Test func aCertificateThatIsAboutToExpire() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "gatehouse-doctor-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = try await TestCertificate.make(in: folder)
        let settings = [
            "GATEWAY_TLS_CERTIFICATE_FILE": files.certificate.path, "GATEWAY_TLS_KEY_FILE": files.key.path,
        ]
        try await expect("gateway", settings) { said in
            said.contains { $0.hasPrefix("problem") && $0.contains("expires in") }
        }
    }

    @Test func certificatesOfDatabaseAndRedisThatAreAboutToExpire() async throws {
        try await withPostgresServer(tls: true) { postgres in
            try await withRedisServer(tls: true) { redis in
                let roots = try #require(postgres.trustRootsFile)
                let settings = [
                    "TOKENS_DATABASE_URL": postgres.url("sslmode=verify-full&sslrootcert=\(roots)"),
                    "TOKENS_REDIS_URL": redis.url,
                ]
                // Made for two days.
                try await expect("tokens", settings) { said in
                    ["PostgreSQL at 127.0.0.1:\(postgres.port)", "Redis at 127.0.0.1:\(redis.port)"].allSatisfy {
                        server in
                        said.contains {
                            $0.hasPrefix("problem") && $0.contains("certificate of \(server) expires in 4")
                        }
                    }
                }
            }
        }
    }

    @Test(arguments: [
        ("identity", ["IDENTITY_PEPPER_KEYS_FILE", "IDENTITY_SEALING_KEYS_FILE"]),
        ("tokens", ["TOKENS_SIGNING_KEY_FILE", "TOKENS_REFRESH_KEYS_FILE"]),
        ("devices", ["DEVICES_TOKEN_KEYS_FILE", "DEVICES_TOKEN_HASH_KEY_FILE"]),
    ])
    func keyFilesThatAreOpenToEverybody(_ program: String, _ names: [String]) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "gatehouse-doctor-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = Dictionary(uniqueKeysWithValues: names.map { ($0, folder.appending(path: $0).path) })
        for (name, file) in files {
            try FileManager.default.copyItem(atPath: try #require(system.settings[name]), toPath: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        }
        try await expect(program, files) { said in
            files.values.allSatisfy { file in
                said.contains { $0.hasPrefix("problem") && $0.contains("open to everybody (mode 644): \(file)") }
            }
        }
    }

    @Test func aKeyOfTheGatewaysCertificateThatIsOpenToEverybody() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "gatehouse-doctor-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = try await TestCertificate.make(in: folder)
        try FileManager.default.setAttributes([.posixPermissions: 0o604], ofItemAtPath: files.key.path)
        let settings = [
            "GATEWAY_TLS_CERTIFICATE_FILE": files.certificate.path, "GATEWAY_TLS_KEY_FILE": files.key.path,
        ]
        try await expect("gateway", settings) { said in
            said.contains { $0.hasPrefix("problem") && $0.contains("open to everybody (mode 604)") }
        }
    }

    @Test func settingsThatAreWrong() async throws {
        try await expect("tokens", ["TOKENS_RETRY_WINDOW": "soon", "TOKENS_COLOUR": "red"]) { said in
            said.contains { $0.contains("TOKENS_RETRY_WINDOW") } && said.contains { $0.contains("TOKENS_COLOUR") }
        }
    }

    /// - Parameter isNamed: whether the lines name the fault.
    private func expect(
        _ program: String, _ settings: [String: String], _ isNamed: @Sendable ([String]) -> Bool
    ) async throws {
        try await system.withReplica(of: program, settings: settings) { replica in
            let said = try await doctor(of: replica)
            #expect(isNamed(said), "\(said)")
        }
    }

    /// The lines that the command prints, whatever its exit status.
    private func doctor(of process: ServiceProcess) async throws -> [String] {
        let text: String
        do {
            text = try await process.run(["doctor"])
            #expect(!text.contains("\n  problem"), "it ends with 0")
        } catch let error as TestKitError {
            text = "\(error)"
            #expect(text.contains("\n  problem"), "it ends with another status")
        }
        return text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    }
}
