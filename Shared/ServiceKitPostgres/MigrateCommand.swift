public import ArgumentParser
import Foundation
public import GatehouseServiceKit
import GatehouseSettings
import Logging
public import Postgres

/// `<service> migrate up|down|status|partition`. Needs only the settings of the database.
public struct MigrateCommand<Application: MigratingApplication>: AsyncParsableCommand {
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "migrate", abstract: "Change the database schema of \(Application.name).",
            subcommands: [Up.self, Down.self, Status.self, Partition.self])
    }

    public init() {}

    struct Up: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "up", abstract: "Apply all pending steps, then the SQL files that are newer.")
        }

        @Option(help: "The number of the last step to apply.")
        var to: Int?

        @Option(help: "Partition the tables of an empty database by bucket, each into so many partitions.")
        var partitions: Int?

        func validate() throws { try MigrateCommand.validate(partitions: partitions) }

        func run() async throws {
            try await MigrateCommand.withDatabase { migrator, connection in
                let taken = try await migrator.up(on: connection, to: to)
                if let partitions {
                    let tables = try await migrator.partition(into: partitions, on: connection, requiringEmpty: true)
                    if !tables.isEmpty { print("Partitioned: \(tables.joined(separator: ", ")).") }
                }
                print(taken.isEmpty ? "Nothing to do." : "Taken: \(taken.joined(separator: ", ")).")
            }
        }
    }

    struct Down: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "down", abstract: "Undo the last step, or all above --to.",
                discussion: """
                    Functions and triggers stay. The next `migrate up` puts those of its version in their place, even \
                    if they are older. --to 0 drops all functions that the role owns.
                    """)
        }

        @Option(help: "The number of the last step to keep; 0 undoes all.")
        var to: Int?

        func run() async throws {
            try await MigrateCommand.withDatabase { migrator, connection in
                let taken = try await migrator.status(on: connection).filter { $0.state != .pending }.map(\.number)
                let undone = try await migrator.down(on: connection, to: to ?? taken.dropLast().last ?? 0)
                print(undone.isEmpty ? "Nothing to do." : "Taken back: \(undone.joined(separator: ", ")).")
            }
        }
    }

    struct Status: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(commandName: "status", abstract: "Show the state of every step and SQL file.")
        }

        func run() async throws {
            try await MigrateCommand.withDatabase { migrator, connection in
                for step in try await migrator.status(on: connection) { print("\(step): \(step.state.rawValue)") }
                for file in try await migrator.fileStatus(on: connection) { print("\(file): \(file.state.rawValue)") }
            }
        }
    }

    struct Partition: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "partition", abstract: "Partition the tables by bucket, while the service runs.",
                discussion: """
                    Copies the tables that have a bucket into partitioned ones, and replaces them. They need twice \
                    their space meanwhile. Run it again after an interruption: it continues.
                    """)
        }

        @Argument(help: "The number of partitions of each table.")
        var count: Int?

        @Flag(help: "Remove the copies of an interrupted run instead.")
        var abandon = false

        func validate() throws {
            guard (count == nil) == abandon else { throw ValidationError("Want a number of partitions, or --abandon.") }
            try MigrateCommand.validate(partitions: count)
        }

        func run() async throws {
            let logger = Logger(label: Application.name) { StreamLogHandler.standardError(label: $0) }
            try await MigrateCommand.withDatabase(logger: logger) { migrator, connection in
                guard let count else { return try await migrator.abandonPartitioning(on: connection) }
                let tables = try await migrator.partition(into: count, on: connection)
                print(tables.isEmpty ? "Nothing to do." : "Partitioned: \(tables.joined(separator: ", ")).")
            }
        }
    }

    private static func validate(partitions: Int?) throws {
        let counts = PostgresMigrator.partitionCounts
        guard partitions.map(counts.contains) ?? true else {
            throw ValidationError("Want \(counts.lowerBound) to \(counts.upperBound) partitions.")
        }
    }

    private static func withDatabase(
        logger: Logger = Logger(label: Application.name) { _ in SwiftLogNoOpLogHandler() },
        _ body: (PostgresMigrator, PostgresConnection) async throws -> Void
    ) async throws {
        let settings = Settings(service: Application.name)
        let database = DatabaseConfiguration(settings: settings)
        do {
            try settings.finish(allowingUnknown: true)
        } catch {
            throw CommandError.wrongConfiguration(error)
        }
        do {
            let connection = try await PostgresConnection.connect(database.connection)
            try await body(PostgresMigrator(migrations: Application.migrations, logger: logger), connection)
            await connection.close()
        } catch {
            throw CommandError.failure(Application.name, error)
        }
    }
}

/// A service with a database of its own.
public protocol MigratingApplication: ServiceApplication {
    /// The migrations from an empty database to the schema of this program, embedded in the binary.
    static var migrations: PostgresMigrations { get }
}
