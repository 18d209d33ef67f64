public import ArgumentParser
import Foundation
import Logging
public import Postgres
public import ServiceKit
import Settings

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
            CommandConfiguration(commandName: "up", abstract: "Apply all pending steps.")
        }

        @Option(help: "The number of the last step to apply.")
        var to: Int?

        @Option(help: "Partition the tables of an empty database by bucket, each into so many partitions.")
        var partitions: Int?

        func run() async throws {
            try await MigrateCommand.withDatabase { migrator, connection in
                let taken = try await migrator.up(on: connection, to: to)
                if let partitions { try await migrator.partition(into: partitions, on: connection, ifEmpty: true) }
                print(taken.isEmpty ? "Nothing to do." : "Taken: \(MigrateCommand.list(taken)).")
            }
        }
    }

    struct Down: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(commandName: "down", abstract: "Undo the last step, or all above --to.")
        }

        @Option(help: "The number of the last step to keep; 0 undoes all.")
        var to: Int?

        func run() async throws {
            try await MigrateCommand.withDatabase { migrator, connection in
                let taken = try await migrator.status(on: connection).filter { $0.state != .pending }.map(\.number)
                let undone = try await migrator.down(on: connection, to: to ?? taken.dropLast().last ?? 0)
                print(undone.isEmpty ? "Nothing to do." : "Taken back: \(MigrateCommand.list(undone)).")
            }
        }
    }

    struct Status: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(commandName: "status", abstract: "Show the state of every step.")
        }

        func run() async throws {
            try await MigrateCommand.withDatabase { migrator, connection in
                for step in try await migrator.status(on: connection) {
                    print("\(step.number)_\(step.name): \(step.state.rawValue)")
                }
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
        var count: Int

        func validate() throws {
            guard (2...256).contains(count) else { throw ValidationError("Want 2 to 256 partitions.") }
        }

        func run() async throws {
            try await MigrateCommand.withDatabase { migrator, connection in
                let tables = try await migrator.partition(into: count, on: connection)
                print(tables.isEmpty ? "Nothing to do." : "Partitioned: \(tables.joined(separator: ", ")).")
            }
        }
    }

    private static func list(_ numbers: [Int]) -> String {
        numbers.map(String.init).joined(separator: ", ")
    }

    private static func withDatabase(
        _ body: (PostgresMigrator, PostgresConnection) async throws -> Void
    ) async throws {
        let settings = Settings(service: Application.name)
        let database = DatabaseConfiguration(settings: settings)
        do {
            try settings.finish(allowingUnknown: true)
        } catch {
            throw CommandError.wrongConfiguration(error)
        }
        let logger = Logger(label: Application.name) { _ in SwiftLogNoOpLogHandler() }
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
    static var migrations: [PostgresMigration] { get }
}
