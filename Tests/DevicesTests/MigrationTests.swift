import Postgres
import TestKit
import Testing

@testable import DevicesService

@Suite struct MigrationTests {
    @Test func theListIsThatOfTheFiles() throws {
        #expect(try migrationFiles(of: "devices") == Migrations.all)
    }
}
