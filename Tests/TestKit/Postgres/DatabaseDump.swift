import Foundation

/// A snapshot of a database, made by `pg_dump`.
public struct DatabaseDump: Sendable {
    private let folder: URL

    /// Dumps a database.
    ///
    /// - Throws: ``TestKitError`` with the output of `pg_dump`.
    public init(of url: String) async throws {
        folder = try PostgresServer.newFolder()
        try await PostgresServer.own(folder)
        try await PostgresProgram.complete(
            "pg_dump", ["--dbname", url, "--format", "custom", "--no-owner", "--file", file],
            output: folder.appending(path: "pg_dump.log"))
    }

    /// Restores the snapshot into an empty database.
    ///
    /// - Throws: ``TestKitError`` with the output of `pg_restore`.
    public func restore(into url: String) async throws {
        try await PostgresProgram.complete(
            "pg_restore", ["--dbname", url, "--no-owner", "--exit-on-error", file],
            output: folder.appending(path: "pg_restore.log"))
    }

    public func remove() {
        try? FileManager.default.removeItem(at: folder)
    }

    private var file: String { folder.appending(path: "dump").path }
}
