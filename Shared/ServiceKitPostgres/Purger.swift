public import GatehouseInstruments
import GatehouseServiceKit
public import Logging
public import ServiceLifecycle

/// Removes expired rows in the background, for as long as the service runs: one batch of one table at a time.
///
/// Each table is purged independently: a backlog or a failure in one does not delay the others. Every replica may run a
/// purger, if its statements skip rows that another replica has locked.
public struct Purger: Service {
    /// A table whose rows expire.
    public struct Table: Sendable {
        /// The name of the table in metrics and in the log.
        public let name: String
        fileprivate let removeBatch: @Sendable () async throws -> Duration?

        /// - Parameter removeBatch: removes a bounded number of rows. It returns how long to wait before the next
        ///   batch, or `nil` for the purger's pause.
        public init(_ name: String, removeBatch: @escaping @Sendable () async throws -> Duration?) {
            self.name = name
            self.removeBatch = removeBatch
        }
    }

    /// The tables, in the order of their first batches.
    public let tables: [Table]
    private let pause: Duration
    private let logger: Logger
    private let countFailure: @Sendable (Table) -> Void

    /// - Parameters:
    ///   - pause: the time between two batches of a table when nothing is left to remove, or a batch has failed.
    ///   - countFailure: counts a batch that has failed.
    public init(
        _ tables: [Table], pause: Duration, logger: Logger, countFailure: @escaping @Sendable (Table) -> Void
    ) {
        self.tables = tables
        self.pause = pause
        self.logger = logger
        self.countFailure = countFailure
    }

    /// A counter for each of a service's tables, by the table's name.
    public static func counters<Table: RawRepresentable<String> & CaseIterable>(
        _ name: String, help: String, of tables: Table.Type
    ) -> [String: Counter] {
        Dictionary(
            uniqueKeysWithValues: tables.allCases.map {
                ($0.rawValue, Counter(name, help: help, labels: [("table", $0.rawValue)]))
            })
    }

    /// Purges until the service shuts down.
    public func run() async {
        await cancelWhenGracefulShutdown {
            var due = tables.map { _ in ContinuousClock.now }
            await Periodic(every: pause).run {
                for (index, table) in tables.enumerated() where due[index] <= .now {
                    let wait = await purge(table)
                    due[index] = .now + wait
                }
                return due.min().map { .after($0 - .now) } ?? .afterInterval
            }
        }
    }

    /// Removes one batch. A failure is counted and logged.
    ///
    /// - Returns: how long to wait for the next batch.
    public func purge(_ table: Table) async -> Duration {
        do {
            return try await table.removeBatch() ?? pause
        } catch {
            guard !Task.isCancelled else { return pause }
            countFailure(table)
            logger.warning(
                "A purge failed; it is tried again.", metadata: ["table": "\(table.name)", "error": "\(error)"])
            return pause
        }
    }
}
