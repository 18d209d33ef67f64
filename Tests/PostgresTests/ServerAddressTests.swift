import Dispatch
import GatehouseThreads
import Synchronization
import TestKit
import Testing

@testable import Postgres

/// Which servers an address means, and how their names are looked up.
@Suite struct ServerAddressTests {
    @Test func aURLNamesOneServerOrSeveral() throws {
        func servers(_ hosts: String) throws -> [ServerAddress] {
            try PostgresConfiguration(url: "postgres://\(hosts)").servers
        }
        #expect(try servers("/d") == [ServerAddress()])
        #expect(try servers("h/d") == [ServerAddress(host: "h")])
        #expect(
            try servers("h:1,[::1]:2/d") == [
                ServerAddress(host: "h", port: "1"), ServerAddress(host: "::1", port: "2"),
            ])
        #expect(
            try servers("a,b/d?port=7") == [ServerAddress(host: "a", port: "7"), ServerAddress(host: "b", port: "7")])
        #expect(
            try servers("a,b/d?hostaddr=10.0.0.1,10.0.0.2").map(\.hostaddr) == ["10.0.0.1", "10.0.0.2"])
        for hosts in ["a,b,c/d?port=1,2", "a,b/d?hostaddr=10.0.0.1"] {
            let error = #expect(throws: PostgresError.self) { try servers(hosts) }
            #expect(error?.code == .invalidConfiguration)
        }
        // A host without a port has libpq's own default, also for the checks of its certificate.
        #expect(try servers("a,b:7/d") == [ServerAddress(host: "a"), ServerAddress(host: "b", port: "7")])
        let verified = try PostgresConfiguration(url: "postgres://a,b:7/d?sslmode=verify-full").verifiedServers
        #expect(verified.map(\.host) == ["a", "b"] && verified.map(\.port) == [5432, 7])
    }

    @Test func onlyNamesAreLookedUp() {
        #expect(ServerAddress(host: "db.example").unresolvedName == "db.example")
        for host in ["127.0.0.1", "::1", "fe80::1%eth0", "/var/run/postgresql", "@abstract"] {
            #expect(ServerAddress(host: host).unresolvedName == nil)
        }
        #expect(ServerAddress(host: "db.example", hostaddr: "10.0.0.1").unresolvedName == nil)
        #expect(ServerAddress().unresolvedName == nil)
    }

    @Test(arguments: [
        ("postgres://db.example/d", false), ("postgres://10.0.0.1/d?sslmode=require", false),
        ("postgres://db.example/d?sslmode=verify-full", true), ("postgres://db.example/d?sslmode=verify-ca", true),
        ("postgres://localhost/d", true), ("postgres://127.3.2.1/d?sslmode=disable", true),
        ("postgres://[::1]/d", true),
        ("postgres:///d", true), ("postgres://%2Fvar%2Frun/d", true), ("postgres://localhost,db.example/d", false),
        ("postgres://localhost/d?hostaddr=10.0.0.1", false), ("postgres://localhost.example/d", false),
        ("postgres://127.0.0.1.example/d", false),
    ])
    func whatLeavesTheMachineIsProtectedByCertificate(url: String, isProtected: Bool) throws {
        #expect(try PostgresConfiguration(url: url).isProtected == isProtected)
    }

    @Test func everyAddressOfANameIsTried() async throws {
        let names = ServerNames(
            resolver: NameResolver { name in
                name == "two" ? .success(["10.0.0.1", "::1"]) : .failure(NameResolverError(.notFound, "no \(name)"))
            })
        let two = ServerAddress(host: "two", port: "1")
        let resolved = try await names.resolve(
            [ServerAddress(host: "10.9.9.9"), two, ServerAddress(host: "none")], until: .now + .seconds(60))
        #expect(
            resolved == [
                ServerAddress(host: "10.9.9.9"), ServerAddress(host: "two", hostaddr: "10.0.0.1", port: "1"),
                ServerAddress(host: "two", hostaddr: "::1", port: "1"),
            ])
        let error = await #expect(throws: PostgresError.self) {
            try await names.resolve([ServerAddress(host: "none")], until: .now + .seconds(60))
        }
        #expect(error?.code == .connectionFailed && error?.reason == .unknownHost)
    }

    @Test("A name server that hangs: the last known addresses are used, and without any the deadline counts")
    func knownAddresses() async throws {
        let gate = DispatchSemaphore(value: 0)
        let names = ServerNames(
            resolver: NameResolver { _ in
                gate.wait()
                return .success(["10.0.0.1"])
            })
        let servers = [ServerAddress(host: "h")]
        let error = await #expect(throws: PostgresError.self) {
            try await names.resolve(servers, until: .now + .milliseconds(20))
        }
        #expect(error?.code == .timedOut)
        gate.signal()
        try await eventually("the answer is there") {
            gate.signal()
            return (try? await names.resolve(servers, until: .now + .milliseconds(20)))?.first?.hostaddr == "10.0.0.1"
        }
        let cancelled = Task { try await names.resolve(servers, until: .now + .seconds(600)) }
        cancelled.cancel()
        await #expect(throws: PostgresError.self) { try await cancelled.value }
        let resolved = try await names.resolve(servers, until: .now + .milliseconds(20))
        #expect(resolved.map(\.hostaddr) == ["10.0.0.1"])
        for _ in 1...10 { gate.signal() }
    }

    @Test func theOrderOfServers() {
        let servers = ["a", "b", "c"].map { ServerAddress(host: $0) }
        func hosts(_ order: ServerOrder) -> [String?] { order.applied(to: servers).map(\.host) }
        #expect(hosts(ServerOrder()) == ["a", "b", "c"])
        #expect(hosts(ServerOrder(first: servers[1])) == ["b", "a", "c"])
        #expect(hosts(ServerOrder(last: [servers[0]])) == ["b", "c", "a"])
        #expect(hosts(ServerOrder(last: Set(servers))) == ["a", "b", "c"])
    }

    @Test func aVanishedHostIsNoticedByTheKernel() throws {
        func value(_ keyword: String, _ url: String) throws -> String? {
            try PostgresConfiguration(url: url).connectionParameters(for: ServerAddress(), mark: "")[keyword]
        }
        #expect(try value("tcp_user_timeout", "postgres://h/d") == "3000")
        #expect(try value("keepalives_idle", "postgres://h/d") == "2")
        // What the address says is left as it is.
        #expect(try value("tcp_user_timeout", "postgres://h/d?tcp_user_timeout=9000") == "9000")
    }
}
