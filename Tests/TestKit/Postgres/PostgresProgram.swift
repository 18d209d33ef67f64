import Foundation

/// The programs of a PostgreSQL installation that Debian keeps out of `PATH`.
enum PostgresProgram {
    static var changesUser: Bool { getuid() == 0 }

    /// Starts a program. If the tests run as root, it runs as `postgres`, because PostgreSQL refuses to run as root.
    static func run(_ name: String, _ arguments: [String], output: URL) throws -> TestProcess {
        try runAsPostgres(try locate(name), arguments, output: output)
    }

    /// Like ``run(_:_:output:)``, for a program outside PostgreSQL, given by its path.
    static func runAsPostgres(_ program: String, _ arguments: [String], output: URL) throws -> TestProcess {
        if changesUser {
            let user = ["--reuid=postgres", "--regid=postgres", "--init-groups", program]
            // It may not enter the tests' own folder.
            return try TestProcess("env", ["--chdir=/", "setpriv"] + user + arguments, output: output)
        }
        return try TestProcess(program, arguments, output: output)
    }

    /// Runs a program to its end.
    ///
    /// - Throws: ``TestKitError`` with the program's output, if it failed.
    static func complete(_ name: String, _ arguments: [String], output: URL) async throws {
        guard try await run(name, arguments, output: output).waitForExit() != 0 else { return }
        let printed = try? String(contentsOf: output, encoding: .utf8)
        throw TestKitError("\(name) failed: \(printed ?? "")")
    }

    private static func locate(_ name: String) throws -> String {
        let debian = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: debian)) ?? []
        let newestFirst = versions.sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }
        let folders = newestFirst.map { "\(debian)/\($0)/bin" } + ["/opt/homebrew/bin", "/usr/local/bin", "/usr/bin"]
        guard let folder = folders.first(where: { FileManager.default.isExecutableFile(atPath: "\($0)/\(name)") })
        else { throw TestKitError("There is no program \(name). `make test` installs what the tests need.") }
        return "\(folder)/\(name)"
    }
}
