import Foundation
import Postgres
import TestKit
import Testing

/// What may keep a connection from being opened.
@Suite struct ConnectingTests {
    @Test func urlsAreReadByLibpqAndNeverRepeated() throws {
        for url in [
            "", "localhost", "host=localhost", "postgres://a:s3cret@[h/d", "postgres://h/d?s3cret=1", "http://h",
        ] {
            let error = #expect(throws: PostgresError.self) { try PostgresConfiguration(url: url) }
            #expect(error?.code == .invalidConfiguration)
            #expect(error?.description.contains("s3cret") == false)
        }
        let configuration = try PostgresConfiguration(
            url: "postgresql://u:s3cret@h/d?application_name=app&sslmode=require")
        #expect(configuration.applicationName == "app")
        var dumped = ""
        dump(configuration, to: &dumped)
        #expect(!("\(configuration) \(String(reflecting: configuration)) " + dumped).contains("s3cret"))
    }

    @Test func whatIsCommittedIsOnTheDiskWhateverTheDefaultIs() async throws {
        try await withDatabase { database in
            try await database.pool.query(
                """
                DO $$ BEGIN
                    EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database());
                END $$
                """)
            let connection = try await database.connect()
            #expect(try await connection.query("SHOW synchronous_commit")[0].decode(String.self) == "on")
            await connection.close()
        }
    }

    @Test func refusedConnectionsAndUnknownHosts() async throws {
        let error = try await failure(connectingTo: "postgres://postgres@127.0.0.1:\(try freePort())/postgres")
        #expect(error?.code == .connectionFailed && error?.reason == .refused)
        #expect(error?.isUnavailable == true)
        let unknown = try await failure(connectingTo: "postgres://postgres@host.invalid/postgres")
        #expect(unknown?.reason == .unknownHost)
    }

    @Test func passwordsTLSAndDatabaseNames() async throws {
        try await withPostgresServer(tls: true) { server in
            let wrong = try await failure(connectingTo: server.url(password: "s3cret"))
            #expect(wrong?.code == .connectionFailed)
            #expect(wrong?.sqlState == .invalidPassword)
            #expect(wrong?.isUnavailable == true)
            #expect(wrong?.description.contains("s3cret") == false)

            let unknown = try await failure(connectingTo: server.url() + "2")
            #expect(unknown?.sqlState == "3D000")

            let roots = try #require(server.trustRootsFile)
            let verified = try await PostgresConnection.connect(
                PostgresConfiguration(url: server.url("sslmode=verify-full&sslrootcert=\(roots)")))
            let isEncrypted: PostgresQuery = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
            #expect(try await verified.query(isEncrypted)[0].decode(Bool.self))
            let unverified = try await failure(
                connectingTo: server.url("sslmode=verify-full&sslrootcert=/nonexistent.pem"))
            #expect(unverified?.code == .connectionFailed && unverified?.reason == .unreadableRootCertificates)
            let plain = try await PostgresConnection.connect(PostgresConfiguration(url: server.url("sslmode=disable")))
            #expect(try await !plain.query(isEncrypted)[0].decode(Bool.self))
        }
    }

    @Test func aSilentServerIsGivenUp() async throws {
        try await withPostgresServer { server in
            await server.freeze()
            var configuration = try PostgresConfiguration(url: server.url())
            configuration.connectTimeout = .milliseconds(100)
            let error = await #expect(throws: PostgresError.self) {
                try await PostgresConnection.connect(configuration)
            }
            #expect(error?.code == .timedOut)
            #expect(error?.isUnavailable == true)
        }
    }

    private func failure(connectingTo url: String) async throws -> PostgresError? {
        let configuration = try PostgresConfiguration(url: url)
        return await #expect(throws: PostgresError.self) { try await PostgresConnection.connect(configuration) }
    }
}
