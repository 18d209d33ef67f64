/// The functions and triggers of one subject. `migrate up` runs the file after the numbered steps if the database has
/// an earlier version of it, or none.
///
/// The file consists of `CREATE OR REPLACE FUNCTION` and `CREATE OR REPLACE TRIGGER`. Old and new replicas call the
/// same functions during a deployment, so a function whose parameters or result change gets a new name.
public struct PostgresSQLFile: Sendable, Equatable {
    /// The file's name without `.sql`.
    public let name: String
    /// The script. It runs in a transaction, so it must not contain BEGIN or COMMIT. Its first line is a comment with
    /// its version, such as `-- Version 3`.
    public let script: [UInt8]

    /// A file from its bytes.
    public init(name: String, script: [UInt8]) {
        self.name = name
        self.script = script
    }

    var label: String { "\(name).sql" }

    /// The number in the first line. It rises with every change of the file, so that `migrate up` of an earlier program
    /// does not replace functions that replicas of a later one call.
    ///
    /// - Throws: ``PostgresError`` with code `migration` if the first line has none.
    var version: Int {
        get throws(PostgresError) {
            let line = String(decoding: script.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
            guard let match = line.prefixMatch(of: /-- Version ([1-9][0-9]*)\b/), let version = Int(match.1) else {
                throw PostgresError(.migration, "\(label) does not begin with a line like `-- Version 3`")
            }
            return version
        }
    }
}

/// The state of an SQL file.
public struct PostgresSQLFileStatus: Sendable, Equatable, CustomStringConvertible {
    /// The file's name without `.sql`.
    public let name: String
    /// The program's version; that of the database if the state is `unknown`.
    public let version: Int
    /// `pending` also if the database has an earlier version, `unknown` also if it has a later one.
    public let state: PostgresMigrationState

    /// Name and version.
    public var description: String { "\(name).sql version \(version)" }
}
