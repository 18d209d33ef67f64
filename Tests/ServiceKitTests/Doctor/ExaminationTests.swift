import AsyncHTTPClient
import Foundation
import GatehouseLimits
import GatehouseSettings
import NIOCore
import Postgres
import ServiceKitPostgres
import TestKit
import Testing

@testable import GatehouseServiceKit

/// What is said of servers that are there, and of those that are not.
@Suite struct ExaminationTests {
    private func examining(_ body: (Examination) async throws -> Void) async throws {
        let client = HTTPClient(configuration: .gatehouse())
        do {
            try await body(Examination(httpClient: client, eventLoopGroup: client.eventLoopGroup))
        } catch {
            try await client.shutdown()
            throw error
        }
        try await client.shutdown()
    }

    private func findings(
        _ examination: Examination, of url: String, _ settings: [String: String] = [:]
    ) async -> [Finding] {
        let settings = Settings(service: "shop", environment: settings.merging(["SHOP_DATABASE_URL": url]) { $1 })
        return await examination.database(of: "shop", DatabaseConfiguration(settings: settings), migrations: .init())
    }

    /// What is said of PostgreSQL where it cannot be used.
    private func complaint(_ examination: Examination, of url: String) async -> String? {
        let texts = await findings(examination, of: url).map(\.text)
        #expect(!texts.contains { $0.contains("postgres ") || $0.contains("SQLSTATE") || $0.contains("FATAL") })
        return texts.first
    }

    @Test func whyNoAnswerComesIsSaidInWords() async throws {
        try await examining { examination in
            func words(_ url: String) async -> String {
                do {
                    return "\(try await examination.send(url).status)"
                } catch {
                    return NetworkTrouble.words(error)
                }
            }
            #expect(await words("http://127.0.0.1:\(try freePort())/") == NetworkTrouble.refused)
            #expect(await words("http://nobody.invalid/") == NetworkTrouble.unknownName)
            try await withTCPServer(onAccept: { $0.close(promise: nil) }) { port in
                #expect(await words("http://127.0.0.1:\(port)/") == NetworkTrouble.hungUp)
            }
            try await withTCPServer(onAccept: { $0.writeAndFlush(ByteBuffer(string: "hello\r\n"), promise: nil) }) {
                port in
                #expect(await words("https://127.0.0.1:\(port)/") == NetworkTrouble.noTLS)
            }
            try await withRedisServer(tls: true) { redis in
                #expect(await words("https://127.0.0.1:\(redis.port)/") == NetworkTrouble.untrusted)
            }
        }
    }

    @Test func aServerThatStaysSilentIsGivenUp() async throws {
        try await withTCPServer { port in
            try await examining { examination in
                do {
                    _ = try await examination.httpClient.exchange(
                        HTTPClientRequest(url: "http://127.0.0.1:\(port)/"), upTo: 1,
                        before: .after(.milliseconds(100)))
                    Issue.record("the silent server answered")
                } catch {
                    #expect(NetworkTrouble.words(error) == NetworkTrouble.silent)
                }
            }
        }
    }

    @Test func howLongAServersCertificateLives() async throws {
        try await examining { examination in
            try await withRedisServer(tls: true) { redis in
                // Made for two days.
                let server = TLSServer("Redis", host: "127.0.0.1", port: redis.port)
                let found = await examination.certificate(of: server)
                #expect(found.map(\.severity) == [.problem] && found[0].text.contains("expires in 4"), "\(found)")
            }
            try await withRedisServer { plain in
                let server = TLSServer("Redis", host: "127.0.0.1", port: plain.port)
                #expect(await examination.certificate(of: server) == [])
            }
            #expect(
                await examination.certificate(of: TLSServer("Redis", host: "127.0.0.1", port: try freePort())) == [])
        }
    }

    @Test func postgresqlThatProvesItself() async throws {
        try await withPostgresServer(tls: true) { server in
            try await examining { examination in
                let roots = try #require(server.trustRootsFile)
                let found = await findings(examination, of: server.url("sslmode=verify-full&sslrootcert=\(roots)"))
                let certificate = found.filter { $0.text.hasPrefix("The certificate of PostgreSQL at 127.0.0.1:") }
                #expect(certificate.map(\.severity) == [.problem], "\(found)")
                // Any certificate will do here, an old one too.
                let unverified = await findings(examination, of: server.url("sslmode=require"))
                #expect(!unverified.contains { $0.text.contains("certificate") }, "\(unverified)")

                // The certificate is for 127.0.0.1 and localhost, and the system does not trust its authority.
                let other = server.url("sslmode=verify-full&sslrootcert=\(roots)").replacing(
                    "127.0.0.1", with: "[::ffff:127.0.0.1]")
                let name = await complaint(examination, of: other)
                #expect(name?.contains(NetworkTrouble.otherName) == true, "\(name ?? "")")
                let system = "/etc/ssl/certs/ca-certificates.crt"
                let authority = await complaint(
                    examination, of: server.url("sslmode=verify-full&sslrootcert=\(system)"))
                #expect(authority?.contains(NetworkTrouble.untrusted) == true, "\(authority ?? "")")
                let missing = await complaint(examination, of: server.url("sslmode=verify-full&sslrootcert=/none.pem"))
                #expect(missing?.contains("the file of authorities") == true, "\(missing ?? "")")
                let password = await complaint(examination, of: server.url(password: "s3cret"))
                #expect(password == "PostgreSQL cannot be used: it does not accept role and password.")
                #expect(await complaint(examination, of: server.url() + "2")?.contains("no such database") == true)
            }
        }
    }

    @Test func aProductionsDatabaseWithoutTLS() async throws {
        try await withPostgresServer { server in
            try await examining { examination in
                let production = ["GATEHOUSE_ENVIRONMENT": "production", "SHOP_DATABASE_TLS": "optional"]
                // This machine, under a name that does not say so.
                let url = server.url().replacing("127.0.0.1", with: "[::ffff:127.0.0.1]")
                func complains(_ found: [Finding]) -> Bool {
                    found.contains { $0.severity == .problem && $0.text.contains("do not use TLS") }
                }
                #expect(complains(await findings(examination, of: url, production)))
                #expect(!complains(await findings(examination, of: server.url(), production)))
                let development = ["GATEHOUSE_ENVIRONMENT": "development"]
                #expect(!complains(await findings(examination, of: url, development)))
            }
        }
    }

    @Test func postgresqlThatIsAway() async throws {
        try await examining { examination in
            let port = try freePort()
            let refused = await complaint(examination, of: "postgres://u:p@127.0.0.1:\(port)/d")
            #expect(refused == "PostgreSQL cannot be used: \(NetworkTrouble.refused).")
            let unknown = await complaint(examination, of: "postgres://u:p@nobody.invalid/d")
            #expect(unknown == "PostgreSQL cannot be used: \(NetworkTrouble.unknownName).")
            let plain = try await withPostgresServer { server in
                await complaint(examination, of: server.url("sslmode=require"))
            }
            #expect(plain == "PostgreSQL cannot be used: \(NetworkTrouble.noTLS).")
        }
    }
}
