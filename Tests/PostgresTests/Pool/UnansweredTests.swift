import Foundation
import Postgres
import TestKit
import Testing

/// Statements whose callers gave up while the server was still at work, or was gone.
@Suite(.timeLimit(.minutes(5))) struct UnansweredTests {
    /// Commits wait for a standby that never comes. Each holds a backend of the server for as long.
    @Test(arguments: [1, 2]) func commitsThatWaitForAStandbyStayWithinTheMaximum(addresses: Int) async throws {
        try await withPostgresServer { server in
            try await withTCPProxy(to: server.port) { proxy in
                let ports = [proxy.port, server.port].suffix(addresses)
                var limits = PostgresPoolConfiguration.patient
                (limits.maximumConnections, limits.reservedConnections) = (4, 1)
                try await withPool(url(ports: Array(ports)), limits) { pool in
                    try await pool.query("CREATE TABLE kept (value integer)")
                    try await server.alter("synchronous_standby_names = 'nobody'")
                    let watcher = try await PostgresConnection.patient(server.url())
                    func backends(_ condition: PostgresQuery) async throws -> Int {
                        try await watcher.query(condition)[0].decode(Int.self)
                    }
                    func commit() async {
                        await withTaskGroup { group in
                            for _ in 1...8 {
                                group.addTask {
                                    _ = try? await pool.query(
                                        "INSERT INTO kept VALUES (1)", deadline: .now + .milliseconds(200))
                                }
                            }
                        }
                    }
                    let waiting: PostgresQuery = """
                        SELECT count(*) FROM pg_stat_activity
                        WHERE application_name = 'unanswered' AND wait_event = 'SyncRep'
                        """
                    let all: PostgresQuery =
                        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'unanswered'"
                    try await eventually("all that requests may use waits", within: .seconds(60)) {
                        await commit()
                        return try await backends(waiting) >= 3
                    }
                    for _ in 1...10 {
                        await commit()
                        #expect(try await backends(waiting) == 3)
                        #expect(await pool.probe())
                        // Looking for another server takes one more for a moment.
                        try await eventually("the pool is within its maximum") { try await backends(all) <= 4 }
                    }
                    try await server.alter("synchronous_standby_names = ''")
                    try await eventually("the pool writes again") {
                        (try? await pool.query("INSERT INTO kept VALUES (2)")) != nil
                    }
                    await watcher.close()
                }
            }
        }
    }

    /// With one address, as of a proxy or a Kubernetes Service, new connections there lead to the successor.
    @Test(arguments: [1, 2]) func aServerThatHangsDoesNotBlockItsSuccessor(addresses: Int) async throws {
        try await withPostgresServer { first in
            try await withPostgresServer { second in
                try await withTCPProxy(to: first.port) { proxy in
                    var limits = PostgresPoolConfiguration.patient
                    (limits.maximumConnections, limits.reservedConnections) = (2, 1)
                    let ports = [proxy.port, second.port].prefix(addresses)
                    try await withPool(url(ports: Array(ports)), limits) { pool in
                        try await withThrowingTaskGroup { group in
                            for usesReserve in [false, true] {
                                group.addTask {
                                    try await pool.query(
                                        "SELECT pg_sleep(60)", deadline: .now + .seconds(60), usesReserve: usesReserve)
                                }
                            }
                            let watcher = try await PostgresConnection.patient(first.url())
                            try await eventually("both connections are in use") {
                                try await watcher.query(
                                    "SELECT FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)'"
                                ).count == 2
                            }
                            await watcher.close()
                            if addresses == 1 {
                                proxy.redirect(to: second.port)
                                proxy.silenceConnections()
                            } else {
                                proxy.goSilent()
                            }
                            group.cancelAll()
                            while let result = await group.nextResult() {
                                #expect(throws: PostgresError.self) { try result.get() }
                            }
                        }
                        let port = try await pool.query("SELECT inet_server_port()")[0].decode(Int.self)
                        #expect(port == second.port)
                    }
                }
            }
        }
    }

    /// The old primary is gone, and nothing says so: no reset, no answer.
    @Test("A host disappears: one caller times out, and the next one reaches the new primary")
    func hostDisappears() async throws {
        try await withPostgresServer { first in
            try await withPostgresStandby(of: first) { second in
                try await withTCPProxy(to: first.port) { proxy in
                    try await withPool(url(ports: [proxy.port, second.port])) { pool in
                        try await withThrowingTaskGroup { group in
                            for _ in 1...6 { group.addTask { try await pool.query("SELECT pg_sleep(0.3)") } }
                            try await group.waitForAll()
                        }
                        let idle = try await pool.query(
                            "SELECT FROM pg_stat_activity WHERE application_name = 'unanswered'")
                        #expect(idle.count == 6)
                        try await second.catchUp(with: first)
                        proxy.goSilent()
                        await first.kill()
                        try await second.promote()
                        let error = await #expect(throws: PostgresError.self) {
                            // As long as a statement of the services has.
                            try await pool.query("SELECT 1", deadline: .now + .milliseconds(1750))
                        }
                        #expect(error?.code == .timedOut)
                        for _ in 1...9 { try await pool.query("SELECT 1", deadline: .now + .seconds(20)) }
                    }
                }
            }
        }
    }

    @Test func theKernelWatchesTheConnection() async throws {
        try await withPostgresServer { server in
            try await withTCPProxy(to: server.port) { proxy in
                let connection = try await PostgresConnection.patient(url(ports: [proxy.port]))
                let socket = try #require(try self.descriptor(to: proxy.port))
                func option(_ level: Int32, _ name: Int32) -> Int32? {
                    var value: Int32 = 0
                    var length = socklen_t(MemoryLayout<Int32>.size)
                    return getsockopt(socket, level, name, &value, &length) == 0 ? value : nil
                }
                let tcp = Int32(IPPROTO_TCP)
                #expect(option(tcp, Int32(TCP_USER_TIMEOUT)) == 3000)
                #expect(option(SOL_SOCKET, SO_KEEPALIVE) == 1)
                #expect(option(tcp, Int32(TCP_KEEPIDLE)) == 2)
                #expect(option(tcp, Int32(TCP_KEEPINTVL)) == 1)
                await connection.close()
            }
        }
    }

    @Test func theReserveIsForReadinessAndFeeds() async throws {
        try await withDatabase { database in
            var limits = PostgresPoolConfiguration.patient
            (limits.maximumConnections, limits.reservedConnections) = (2, 1)
            try await withPool(database.url, limits) { pool in
                try await pool.withConnection { _ in
                    let error = await #expect(throws: PostgresError.self) {
                        try await pool.query("SELECT 1", deadline: .now + .milliseconds(100))
                    }
                    #expect(error?.code == .poolExhausted)
                    #expect(await pool.probe())
                    try await pool.query("SELECT 1", usesReserve: true)
                }
            }
        }
    }

    @Test func aPoolWhoseConnectionsAreAllInUseIsReady() async throws {
        try await withDatabase { database in
            var limits = PostgresPoolConfiguration.patient
            limits.maximumConnections = 1
            try await withPool(database.url, limits) { pool in
                try await pool.withConnection { _ in
                    #expect(await pool.probe())
                }
            }
        }
    }

    /// The descriptor of this process' connection to `port` of this machine.
    private func descriptor(to port: Int) throws -> Int32? {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }.first { number in
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(number, $0, &length) }
            }
            return result == 0 && Int32(address.sin_family) == AF_INET && UInt16(bigEndian: address.sin_port) == port
        }
    }

    private func url(ports: [Int]) -> String {
        let hosts = ports.map { "127.0.0.1:\($0)" }.joined(separator: ",")
        let password = PostgresServer.password.replacing(" ", with: "%20")
        return "postgres://postgres:\(password)@\(hosts)/postgres?sslmode=disable"
    }

    private func withPool(
        _ url: String, _ limits: PostgresPoolConfiguration = .patient, _ body: (PostgresPool) async throws -> Void
    ) async throws {
        var configuration = try PostgresConfiguration.patient(url)
        configuration.needsPrimary = true
        configuration.applicationName = "unanswered"
        let pool = PostgresPool(configuration: configuration, pool: limits, logger: .quiet)
        let running = Task { await pool.run() }
        defer { running.cancel() }
        try await body(pool)
    }
}
