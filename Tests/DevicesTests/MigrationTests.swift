import Postgres
import TestKit
import Testing

@testable import DevicesService

@Suite struct MigrationTests {
    @Test func theListIsThatOfTheFiles() throws {
        let files = try migrationFiles(of: "devices")
        #expect(files.steps == Migrations.all.steps && files.files == Migrations.all.files)
    }
}
