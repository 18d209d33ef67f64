import Foundation
import GatehouseServiceContracts
import Postgres
import Synchronization
import TestKit
import Testing

@testable import DevicesService

/// Registrations on three servers, behind PL/Proxy as a stand-in for a distributed engine: a user's devices stand on
/// the server that has the user's bucket, the owner of a token on the one that has the token's hash.
@Suite struct DistributedTests {
    private static let phones = (0..<8).map { "ad0\($0)" }
    private static let users = (0..<9).map { _ in SignedIn() }

    /// One of the servers stops and its standby takes over while users register each other's phones.
    @Test func eachTokenHasOneOwnerWhenOneServerFailsOver() async throws {
        try await withPLProxyCluster { connection in
            try await PostgresMigrator(migrations: Migrations.all, logger: .quiet).up(on: connection)
        } _: { cluster in
            try await distribute(cluster)
            let second = cluster.servers[1]
            try await withPostgresStandby(of: second) { standby in
                let pool = PostgresPool(configuration: try PostgresConfiguration(url: cluster.url), pool: .patient)
                defer { pool.close() }
                let registry = TestRegistry(pool)
                try await withRegistrations(in: registry) { load in
                    try await load.everyUserRegistersAgain()
                    try await standby.catchUp(with: second)
                    await second.stop()
                    try await standby.promote()
                    try await cluster.replace(second, by: standby)
                    try await load.everyUserRegistersAgain()
                }
                try await eventually("the statements that the load has given up have ended") {
                    try await cluster.coordinator.query(
                        """
                        SELECT count(*) = 0 FROM pg_stat_activity
                        WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()
                        """)[0].decode(Bool.self)
                }
                let servers = [cluster.servers[0], standby, cluster.servers[2]]
                for (number, phone) in Self.phones.enumerated() {
                    let user = Self.users[number]
                    _ = try await registry.register(
                        DeviceStoreTests.registration(token: phone), user: user.id, session: user.session)
                }
                #expect(try await owners(on: servers) == Array(Self.users.prefix(Self.phones.count).map(\.id)))
                try await endOneSession(in: registry, on: servers)
            }
        }
    }

    /// The coordinator keeps the position in the feed, and no device.
    private func distribute(_ cluster: PLProxyCluster) async throws {
        try await cluster.coordinator.execute(
            script: """
                DROP VIEW owned_devices;
                DROP TABLE devices, push_token_owners, revoked_sessions, security_events;
                CREATE FUNCTION part_of(token_hash bytea) RETURNS integer LANGUAGE sql IMMUTABLE
                    AS 'SELECT get_byte(token_hash, 0)';
                """)
        #expect(try await cluster.distribute(by: "in_bucket") > 5)
        #expect(try await cluster.distribute(by: "of_hash", key: "part_of") == 3)
    }

    /// The owner of each phone whose one valid registration, and no other, is stored where its user's bucket is.
    private func owners(on servers: [PostgresServer]) async throws -> [UUID?] {
        var (owners, devices): ([Data: TokenOwner], [Data: [TokenOwner]]) = ([:], [:])
        for (place, server) in servers.enumerated() {
            let connection = try await PostgresConnection.patient(server.url())
            let ownerRows = try await connection.query("SELECT token_hash, user_id, epoch FROM push_token_owners")
                .decode((Data, UUID, Int64).self)
            for (hash, user, epoch) in ownerRows {
                #expect(PLProxyCluster.server(of: Int(hash[hash.startIndex])) == place)
                owners[hash] = TokenOwner(user: user, epoch: epoch)
            }
            let deviceRows = try await connection.query("SELECT bucket, token_hash, user_id, token_epoch FROM devices")
                .decode((Int16, Data, UUID, Int64).self)
            for (bucket, hash, user, epoch) in deviceRows {
                #expect(PLProxyCluster.server(of: Int(bucket)) == place && Bucket(user: user).rawValue == bucket)
                devices[hash, default: []].append(TokenOwner(user: user, epoch: epoch))
            }
            await connection.close()
        }
        return try Self.phones.map { phone in
            let hash = TestRegistry.protection.hash(try DeviceStoreTests.registration(token: phone))
            let owner = owners[hash]
            return devices[hash, default: []].filter { $0 == owner }.count == 1 ? owner?.user : nil
        }
    }

    private func endOneSession(in registry: TestRegistry, on servers: [PostgresServer]) async throws {
        let user = Self.users[0]
        let entry = RevocationPage.Entry(
            sessionID: user.session, userID: user.id, revokedAt: .now, accessExpiresAt: .now + 3600, reason: .logout)
        let page = RevocationPage(entries: [entry], cursor: "1", reset: false, more: false)
        #expect(try await RevokedSessionStore(database: registry.database).apply(page, after: nil) ?? 0 > 0)
        let again = try await registry.register(
            DeviceStoreTests.registration(token: Self.phones[1]), user: user.id, session: user.session)
        #expect(again == nil)
        #expect(try await owners(on: servers).prefix(2) == [nil, Self.users[1].id])
    }

    /// Counts what the users have registered.
    private final class Load: Sendable {
        private let counts = Mutex([Int](repeating: 0, count: DistributedTests.users.count))

        func count(_ user: Int) { counts.withLock { $0[user] += 1 } }

        func everyUserRegistersAgain() async throws {
            let before = counts.withLock(\.self)
            try await eventually("every user has registered a phone") {
                counts.withLock { zip($0, before).allSatisfy { $0 > $1 + 2 } }
            }
        }
    }

    private func withRegistrations(
        in registry: TestRegistry, _ body: @Sendable (Load) async throws -> Void
    ) async throws {
        let load = Load()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, user) in Self.users.enumerated() {
                group.addTask {
                    var turn = number
                    while !Task.isCancelled {
                        turn += 1
                        let registration = try DeviceStoreTests.registration(
                            token: Self.phones[turn % Self.phones.count])
                        // Fails while a server is gone.
                        if (try? await registry.register(registration, user: user.id, session: user.session)) != nil {
                            load.count(number)
                        }
                    }
                }
            }
            try await body(load)
            group.cancelAll()
        }
    }
}
