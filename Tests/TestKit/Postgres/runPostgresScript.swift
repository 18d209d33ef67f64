import Foundation

/// Runs a script of `deploy/postgres` with psql, as the user of `url`.
///
/// - Parameters:
///   - name: the file's.
///   - variables: for psql: `name=tokens`.
///   - environment: what the script reads with `\getenv`.
/// - Throws: ``TestKitError`` with psql's output, if it failed.
public func runPostgresScript(
    _ name: String, _ variables: [String], environment: [String: String] = [:], on url: String
) async throws {
    let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "deploy/postgres/\(name)")
    let files = try TemporaryFiles()
    defer { files.remove() }
    let output = URL(filePath: try files.write(""))
    let path = ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? ""]
    let process = try TestProcess(
        "psql",
        ["--no-psqlrc", "--set", "ON_ERROR_STOP=1", "--dbname", url, "--file", script.path()]
            + variables.flatMap { ["--set", $0] },
        environment: path.merging(environment) { $1 }, output: output)
    guard await process.waitForExit() != 0 else { return }
    throw TestKitError("\(name) failed: \(try String(contentsOf: output, encoding: .utf8))")
}
