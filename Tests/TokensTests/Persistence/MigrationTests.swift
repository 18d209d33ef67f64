import Postgres
import TestKit
import Testing

@testable import TokensService

@Suite struct MigrationTests {
    @Test func theListIsThatOfTheFiles() throws {
        #expect(try migrationFiles(of: "tokens") == Migrations.all)
    }
}
