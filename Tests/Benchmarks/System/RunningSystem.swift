import Foundation
import GatehouseAccessTokens
import Postgres

/// The system under measurement, as `make up` describes it: addresses and processes from `env`, the key beside it.
struct RunningSystem: Sendable {
    private let values: [String: String]
    private let folder: URL

    init(environmentFile path: String) throws {
        folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        values = Dictionary(
            lines.compactMap { line in
                line.firstIndex(of: "=").map { (String(line[..<$0]), String(line[line.index(after: $0)...])) }
            }, uniquingKeysWith: { $1 })
    }

    func value(_ key: String) throws -> String {
        guard let value = values[key] else { throw BenchmarkError("\(key) does not stand in the system's env file") }
        return value
    }

    /// A credential between two services, which stands beside the keys.
    func secret(_ name: String) throws -> String {
        let lines = try keyFile("secrets.env").split(separator: "\n")
        guard let line = lines.first(where: { $0.hasPrefix("\(name)=") }) else {
            throw BenchmarkError("\(name) does not stand in secrets.env")
        }
        return String(line.dropFirst(name.count + 1))
    }

    func keyFilePath(_ name: String) -> String { folder.appending(path: "keys/\(name)").path() }

    func keyFile(_ name: String) throws -> String { try String(contentsOfFile: keyFilePath(name), encoding: .utf8) }

    /// `process("apple-simulator")` is the one whose id stands at `APPLE_SIMULATOR_PID`.
    func process(_ name: String) throws -> WatchedProcess {
        let key = name.uppercased().replacingOccurrences(of: "-", with: "_") + "_PID"
        guard let id = Int32(try value(key)) else { throw BenchmarkError("\(key) is no process id") }
        return WatchedProcess(name: name, id: id, withChildren: name == "postgres")
    }

    func processes(_ names: String...) throws -> [WatchedProcess] { try names.map(process) }

    /// tokens' database as the cluster's superuser, whose password stands beside the data.
    func superuserURL() throws -> String {
        guard var url = URLComponents(string: try value("TOKENS_DATABASE_URL")) else {
            throw BenchmarkError("TOKENS_DATABASE_URL is no URL")
        }
        let password = try String(
            contentsOf: folder.appendingPathComponent("postgres.password"), encoding: .utf8)
        url.user = "postgres"
        url.password = password.trimmingCharacters(in: .newlines)
        guard let text = url.string else { throw BenchmarkError("TOKENS_DATABASE_URL is no URL") }
        return text
    }

    /// Makes PostgreSQL write new rows to the disk, which it would do during the measurement otherwise.
    func checkpoint() async throws {
        var configuration = try PostgresConfiguration(url: superuserURL())
        configuration.statementTimeout = .seconds(600)
        let connection = try await PostgresConnection.connect(configuration)
        try await connection.execute(script: "CHECKPOINT", deadline: .now + .seconds(600))
        await connection.close()
    }

    /// The key that tokens signs with, so that a benchmark can make as many access tokens as it likes.
    func signer() throws -> AccessTokenSigner {
        try AccessTokenSigner(key: RSAPrivateKey(pem: keyFile("access-token-private.pem")))
    }

    /// An access token of a session that is not revoked: the gateway verifies it without asking a service.
    func accessToken(signer: AccessTokenSigner) throws -> String {
        let now = Int64(Date().timeIntervalSince1970)
        return try signer.sign(
            AccessTokenClaims(
                issuer: "http://gatehouse.localhost", audience: "gatehouse", subject: UUID(), sessionID: UUID(),
                tokenID: UUID(), issuedAt: now, expiresAt: now + 3600, clientID: "com.example.app", role: "customer",
                storeIDs: [], email: "ada@example.com"))
    }
}
