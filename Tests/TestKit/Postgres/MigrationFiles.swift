import Foundation
public import Postgres

/// The migrations in `Services/<service>/Sources/Migrations`, and the files in `SQL` beside it, in the order of their
/// names.
///
/// Each service lists them by hand, because embedded files cannot be enumerated. Its tests compare the list with these
/// files.
///
/// - Throws: if a migration's name is not `0001_name.up.sql`, `0001_name.down.sql` or `0001_name.indexes.sql`, or one
///   of the first two is missing.
public func migrationFiles(of service: String) throws -> PostgresMigrations {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardizedFileURL
    let sources = root.appending(path: "Services/\(service)/Sources")
    func names(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: sources.appending(path: folder).path)
            .filter { $0.hasSuffix(".sql") }.sorted()
    }
    func read(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: sources.appending(path: path))) }

    let scripts = try names(in: "Migrations")
    let steps = Set(scripts.map { $0.replacing(/\.(up|down|indexes)\.sql$/, with: "") })
    guard scripts.count(where: { $0.contains(/\.(up|down)\.sql$/) }) == steps.count * 2 else {
        throw TestKitError("In Migrations of \(service) every .up.sql needs a .down.sql.")
    }
    return PostgresMigrations(
        steps: try steps.map { step in
            guard let match = step.wholeMatch(of: /([0-9]{4})_([a-z0-9_]+)/), let number = Int(match.1) else {
                throw TestKitError("\(step) is not named as in 0001_name.")
            }
            func script(_ kind: String) throws -> [UInt8] { try read("Migrations/\(step).\(kind).sql") }
            return PostgresMigration(
                number: number, name: String(match.2),
                indexes: scripts.contains("\(step).indexes.sql") ? try script("indexes") : [],
                up: try script("up"), down: try script("down"))
        },
        files: try names(in: "SQL").map { name in
            PostgresSQLFile(name: String(name.dropLast(4)), script: try read("SQL/\(name)"))
        })
}
