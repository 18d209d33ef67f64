public import Postgres
public import ServiceKit

/// A service with a database of its own.
public protocol MigratingApplication: ServiceApplication {
    /// The steps that bring an empty database to what this program was written for, embedded in the binary.
    static var migrations: [PostgresMigration] { get }
}
