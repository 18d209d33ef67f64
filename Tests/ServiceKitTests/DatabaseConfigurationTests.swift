import Contracts
import Postgres
import ServiceKit
import ServiceKitPostgres
import TestKit
import Testing

@Suite struct DatabaseConfigurationTests {
    @Test func settingsOfADatabase() throws {
        let settings = Settings(
            service: "tokens",
            environment: [
                "TOKENS_DATABASE_URL": "postgres://tokens:s3cret@db/tokens", "TOKENS_DATABASE_MAXIMUM_CONNECTIONS": "7",
            ])
        let database = DatabaseConfiguration(settings: settings)
        try settings.finish()
        #expect(database.pool.maximumConnections == 7)
        #expect(database.pool.name == "tokens")
        #expect(database.connection.applicationName == "tokens")
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
            environment: ["TOKENS_DATABASE_URL": "postgres://db/tokens", "TOKENS_SIGNING_KEY_FILE": "/key.pem"])
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
}
