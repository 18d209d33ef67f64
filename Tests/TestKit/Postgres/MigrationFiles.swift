import Foundation
public import Postgres

/// The migrations in `Services/<service>/Sources/Migrations`, read from the files.
///
/// Each service lists its migrations by hand, because embedded files cannot be enumerated. Its tests compare the list
/// with these files.
///
/// - Throws: if a file's name is not `0001_name.up.sql`, `0001_name.down.sql` or `0001_name.indexes.sql`, or one of the
///   first two is missing.
public func migrationFiles(of service: String) throws -> [PostgresMigration] {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardizedFileURL
    let folder = root.appending(path: "Services/\(service)/Sources/Migrations")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".sql") }
    let steps = Set(names.map { $0.replacing(/\.(up|down|indexes)\.sql$/, with: "") })
    guard names.count(where: { $0.contains(/\.(up|down)\.sql$/) }) == steps.count * 2 else {
        throw TestKitError("In \(folder.path) every .up.sql needs a .down.sql.")
    }
    return try steps.sorted().map { step in
        guard let match = step.wholeMatch(of: /([0-9]{4})_([a-z0-9_]+)/), let number = Int(match.1) else {
            throw TestKitError("\(step) is not named as in 0001_name.")
        }
        func read(_ kind: String) throws -> [UInt8] {
            Array(try Data(contentsOf: folder.appending(path: "\(step).\(kind).sql")))
        }
        return PostgresMigration(
            number: number, name: String(match.2),
            indexes: names.contains("\(step).indexes.sql") ? try read("indexes") : [],
            up: try read("up"), down: try read("down"))
    }
}
