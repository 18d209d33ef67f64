import Postgres
import TestKit
import Testing

@testable import IdentityService

@Suite struct MigrationTests {
    @Test func theListIsThatOfTheFiles() throws {
        #expect(try migrationFiles(of: "identity") == identityMigrations)
    }
}
