/// One numbered step of a database's schema: two scripts, of which one undoes the other.
public struct PostgresMigration: Sendable, Equatable {
    /// Its place in the order, from 1. Never reused.
    public let number: Int
    /// What it does, in a word or two: the part of the file's name after the number.
    public let name: String
    /// The script that takes the step. It runs in a transaction of its own, so it must not contain BEGIN or COMMIT.
    public let up: [UInt8]
    /// The script that takes it back.
    public let down: [UInt8]

    /// A migration from the bytes of its two files.
    public init(number: Int, name: String, up: [UInt8], down: [UInt8]) {
        self.number = number
        self.name = name
        self.up = up
        self.down = down
    }
}

/// Where a migration stands in a database.
public struct PostgresMigrationStatus: Sendable, Equatable {
    /// What the database and the program know of a migration.
    public enum State: String, Sendable {
        /// Not taken yet.
        case pending
        /// Taken, from this very script.
        case applied
        /// Taken from a script that has been changed since: the database is not what the program takes it for.
        case changed
        /// Taken by a newer program; this one does not know it.
        case unknown
    }

    /// The migration's number.
    public let number: Int
    /// The migration's name.
    public let name: String
    /// Where it stands.
    public let state: State
}
