import Foundation
import Testing

@testable import Postgres

/// libpq takes from the environment what an address does not say: so does what is thought of the address. In a process
/// of its own each, for the environment is everybody's.
@Suite struct LibpqEnvironmentTests {
    @Test func anAddressThatLeadsElsewhereByTheEnvironmentIsNotLocal() async {
        await #expect(processExitsWith: .success) {
            setenv("PGHOSTADDR", "192.0.2.1", 1)
            let configuration = try PostgresConfiguration(url: "postgres://localhost/d")
            try #require(configuration.servers == [ServerAddress(host: "localhost", hostaddr: "192.0.2.1")])
            try #require(!configuration.isProtected)
            setenv("PGSSLMODE", "verify-full", 1)
            try #require(try PostgresConfiguration(url: "postgres://localhost/d").isProtected)
            try #require(try !PostgresConfiguration(url: "postgres://localhost/d?sslmode=require").isProtected)
        }
    }

    @Test func anAddressWithoutAHostTakesTheEnvironments() async {
        await #expect(processExitsWith: .success) {
            setenv("PGHOST", "db.example", 1)
            setenv("PGPORT", "7", 1)
            let configuration = try PostgresConfiguration(url: "postgres:///d")
            try #require(configuration.servers == [ServerAddress(host: "db.example", port: "7")])
            try #require(!configuration.isProtected && !PostgresConfiguration().isProtected)
            try #require(try PostgresConfiguration(url: "postgres://127.0.0.1/d").isProtected)
        }
    }

    @Test func aServiceOfTheEnvironmentIsSeen() async {
        await #expect(processExitsWith: .success) {
            let path = FileManager.default.temporaryDirectory.appending(path: "service-\(UUID())").path
            try "[far]\nhostaddr=192.0.2.1\n".write(toFile: path, atomically: true, encoding: .utf8)
            defer { try? FileManager.default.removeItem(atPath: path) }
            setenv("PGSERVICEFILE", path, 1)
            setenv("PGSERVICE", "far", 1)
            try #require(try !PostgresConfiguration(url: "postgres://localhost/d").isProtected)
        }
    }

    @Test func aServiceInTheAddressIsRefused() {
        let error = #expect(throws: PostgresError.self) {
            try PostgresConfiguration(url: "postgres://localhost/d?service=far")
        }
        #expect(error?.code == .invalidConfiguration)
    }
}
