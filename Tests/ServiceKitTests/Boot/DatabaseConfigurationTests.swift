import GatehouseServiceContracts
import GatehouseServiceKit
import GatehouseSettings
import Postgres
import ServiceKitPostgres
import TestKit
import Testing

@Suite struct DatabaseConfigurationTests {
    @Test func settingsOfADatabase() throws {
        let settings = Settings(
            service: "tokens",
            environment: [
                "TOKENS_DATABASE_URL": "postgres://tokens:s3cret@localhost/tokens",
                "TOKENS_DATABASE_MAXIMUM_CONNECTIONS": "7",
            ])
        let database = DatabaseConfiguration(settings: settings)
        try settings.finish()
        #expect(database.pool.maximumConnections == 7)
        #expect(database.pool.name == "tokens")
        #expect(database.connection.applicationName == "tokens")
        #expect(database.connection.statementTimeout == .milliseconds(1500))
        #expect(database.pool.acquireTimeout == .milliseconds(1500))
    }

    @Test func theTimeoutOfDependenciesIsASetting() throws {
        let settings = Settings(
            service: "tokens",
            environment: ["TOKENS_DATABASE_URL": "postgres://localhost/tokens", "GATEHOUSE_PATIENCE_MS": "3000"])
        let database = DatabaseConfiguration(settings: settings)
        try settings.finish()
        #expect(database.connection.statementTimeout == .seconds(3))
        #expect(database.connection.lockTimeout == .seconds(2))
        #expect(database.connection.connectTimeout == .milliseconds(3500))
        #expect(database.pool.acquireTimeout == .seconds(3))
    }

    @Test(arguments: ["99", "60001", "1.5", "soon"]) func aWrongTimeoutIsTold(value: String) {
        let settings = Settings(service: "tokens", environment: ["GATEHOUSE_PATIENCE_MS": value])
        let error = #expect(throws: SettingsError.self) { try settings.finish() }
        #expect(error.map { "\($0)".contains("GATEHOUSE_PATIENCE_MS") } == true)
    }

    @Test(arguments: ["", "mysql://db/s3cret", "s3cret"])
    func aWrongAddressIsToldWithoutIt(url: String) {
        let settings = Settings(service: "tokens", environment: ["TOKENS_DATABASE_URL": url])
        _ = DatabaseConfiguration(settings: settings)
        let error = #expect(throws: SettingsError.self) { try settings.finish() }
        #expect(error.map { "\($0)".contains("TOKENS_DATABASE_URL") && !"\($0)".contains("s3cret") } == true)
    }

    @Test func aPartOfTheSettingsMayBeReadAlone() throws {
        let settings = Settings(
            service: "tokens",
            environment: ["TOKENS_DATABASE_URL": "postgres://localhost/tokens", "TOKENS_SIGNING_KEY_FILE": "/key.pem"])
        _ = DatabaseConfiguration(settings: settings)
        try settings.finish(allowingUnknown: true)
    }

    @Test func troubleOfTheDatabaseIsUnavailable() async throws {
        try await withDatabase { database in
            let broken = await #expect(throws: PostgresError.self) { try await database.pool.query("SELECT 1/0") }
            #expect(broken?.problem.code == .internal)
            database.pool.close()
            let closed = await #expect(throws: PostgresError.self) { try await database.pool.query("SELECT 1") }
            #expect(closed?.problem.code == .unavailable)
            #expect(await !database.pool.probe())
        }
    }

    @Test func aServiceWritesToAPrimary() throws {
        let settings = Settings(service: "tokens", environment: ["TOKENS_DATABASE_URL": "postgres://localhost/tokens"])
        #expect(DatabaseConfiguration(settings: settings).connection.needsPrimary)
    }

    @Test(arguments: ["none", "transaction"]) func aPoolerIsSaid(pooler: String) throws {
        let settings = Settings(
            service: "tokens",
            environment: ["TOKENS_DATABASE_URL": "postgres://localhost/tokens", "TOKENS_DATABASE_POOLER": pooler])
        let database = DatabaseConfiguration(settings: settings)
        try settings.finish()
        #expect(database.connection.pooler.rawValue == pooler)
    }

    @Test func aServerElsewhereProvesItselfInProduction() throws {
        func problems(_ environment: [String: String]) -> String {
            let settings = Settings(service: "tokens", environment: environment)
            _ = DatabaseConfiguration(settings: settings)
            do {
                try settings.finish()
                return ""
            } catch {
                return "\(error)"
            }
        }
        let plain = ["TOKENS_DATABASE_URL": "postgres://tokens:s3cret@db/tokens"]
        let told = problems(plain)
        #expect(told.contains("TOKENS_DATABASE_URL") && told.contains("TOKENS_DATABASE_TLS"))
        #expect(!told.contains("s3cret"))
        #expect(problems(plain.merging(["TOKENS_DATABASE_TLS": "optional"]) { $1 }).isEmpty)
        #expect(problems(plain.merging(["GATEHOUSE_ENVIRONMENT": "development"]) { $1 }).isEmpty)
        #expect(problems(["TOKENS_DATABASE_URL": "postgres://db/tokens?sslmode=verify-full"]).isEmpty)
        #expect(problems(["TOKENS_DATABASE_URL": "postgres:///tokens"]).isEmpty)
        #expect(!problems(["TOKENS_DATABASE_URL": "postgres://db/tokens?sslmode=require"]).isEmpty)
    }
}
