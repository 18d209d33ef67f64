/// One numbered step of a database's schema: a script, a script that undoes it, and indexes that are built before the
/// script while the tables are in use.
public struct PostgresMigration: Sendable, Equatable {
    /// Its place in the order, from 1. Never reused.
    public let number: Int
    /// The part of the file's name after the number, in a word or two.
    public let name: String
    /// Statements `CREATE [UNIQUE] INDEX CONCURRENTLY name ON …;` and comments. Each statement runs alone, outside a
    /// transaction, before `up`; writers of the table do not wait for it. The tables and columns must exist before the
    /// step. A later step that drops one of the indexes removes its statement from here.
    public let indexes: [UInt8]
    /// The script that applies the step. It runs in a transaction of its own, so it must not contain BEGIN or COMMIT.
    public let up: [UInt8]
    /// The script that undoes the step.
    public let down: [UInt8]

    /// A step from the bytes of its files.
    public init(number: Int, name: String, indexes: [UInt8] = [], up: [UInt8], down: [UInt8]) {
        self.number = number
        self.name = name
        self.indexes = indexes
        self.up = up
        self.down = down
    }

    var label: String { "\(number)_\(name)" }
}

/// An index that is built while its table is in use.
struct ConcurrentIndex: Equatable {
    /// Without characters that need quotes in a statement.
    let name: String
    let statement: String

    /// - Throws: ``PostgresError`` with code `migration` if there is a statement of another form.
    static func list(_ migration: PostgresMigration) throws(PostgresError) -> [ConcurrentIndex] {
        let lines = String(decoding: migration.indexes, as: UTF8.self).split(separator: "\n")
        let statements = lines.filter { !$0.hasPrefix("--") }.joined(separator: "\n").split(separator: ";")
        var indexes: [ConcurrentIndex] = []
        for statement in statements where !statement.allSatisfy(\.isWhitespace) {
            let form = /\s*(CREATE (?:UNIQUE )?INDEX CONCURRENTLY ([a-z0-9_]+)\s+ON .+)/.dotMatchesNewlines()
            guard let match = statement.wholeMatch(of: form) else {
                throw PostgresError(
                    .migration,
                    "migration \(migration.label): \(statement) is not CREATE INDEX CONCURRENTLY")
            }
            indexes.append(ConcurrentIndex(name: String(match.2), statement: String(match.1)))
        }
        return indexes
    }
}

/// The schema of a program's database: numbered steps, and SQL files that follow them.
public struct PostgresMigrations: Sendable, Equatable {
    /// In the order of their numbers.
    public let steps: [PostgresMigration]
    /// In the order in which they run. A function in SQL follows the functions that it calls.
    public let files: [PostgresSQLFile]
    /// What an operator does with a database whose steps were numbered before these. The error of such a database ends
    /// with it.
    public let replacement: String

    /// Takes the steps in any order.
    public init(steps: [PostgresMigration] = [], files: [PostgresSQLFile] = [], replacement: String = "") {
        self.steps = steps.sorted { $0.number < $1.number }
        self.files = files
        self.replacement = replacement
    }
}

/// The state of a numbered step or of an SQL file in a database, compared with the program.
public enum PostgresMigrationState: String, Sendable {
    /// Not applied yet, or in an earlier version.
    case pending
    /// Applied as the program has it.
    case applied
    /// Applied from another text under the same number. The schema may differ from the one that the program expects.
    case changed
    /// Applied by a newer program; this program does not have it.
    case unknown
    /// The database has a step of another name under this number: its steps were numbered before those of the program.
    case replaced
}

/// The state of a step.
public struct PostgresMigrationStatus: Sendable, Equatable, CustomStringConvertible {
    /// The step's number.
    public let number: Int
    /// The step's name: the database's if it has one, otherwise the program's.
    public let name: String
    /// The step's state.
    public let state: PostgresMigrationState

    /// Number and name, as in the names of its files.
    public var description: String { "\(number)_\(name)" }
}
