import Logging
import ServiceKitPostgres
import Synchronization
import TestKit
import Testing

@Suite struct PurgerTests {
    private struct Refused: Error {}

    /// Runs a purger of the tables until the condition holds, with a pause that no test waits for.
    private func purge(
        _ tables: [Purger.Table], pause: Duration = .seconds(1800), logger: Logger = .quiet,
        countFailure: @escaping @Sendable (Purger.Table) -> Void = { _ in }, until condition: () -> Bool
    ) async throws {
        let purging = Task { await Purger(tables, pause: pause, logger: logger, countFailure: countFailure).run() }
        defer { purging.cancel() }
        try await eventually("it is purged") { condition() }
    }

    @Test func aBacklogIsRemovedWithoutAPauseAndDelaysNoOtherTable() async throws {
        let order = Mutex<[String]>([])
        let tables = [
            Purger.Table("long") {
                order.withLock { order in
                    order.append("long")
                    return order.filter { $0 == "long" }.count < 5 ? .zero : nil
                }
            },
            Purger.Table("short") {
                order.withLock { $0.append("short") }
                return nil
            },
        ]
        try await purge(tables) { order.withLock { $0.count == 6 } }
        #expect(order.withLock { Array($0.prefix(2)) } == ["long", "short"])
    }

    @Test func aFailureIsCountedLoggedAndTriedAgain() async throws {
        let log = CapturedLog()
        let attempts = Mutex(0)
        let failed = Mutex<[String]>([])
        let table = Purger.Table("users") {
            let attempt = attempts.withLock { attempts in
                attempts += 1
                return attempts
            }
            if attempt <= 2 { throw Refused() }
            return .seconds(1800)
        }
        try await purge(
            [table], pause: .milliseconds(1), logger: log.logger,
            countFailure: { table in failed.withLock { $0.append(table.name) } }
        ) { attempts.withLock { $0 == 3 } }
        #expect(failed.withLock { $0 } == ["users", "users"])
        #expect(log.lines.count == 2 && log.lines.allSatisfy { $0.hasPrefix("warning") && $0.contains("users") })
    }

    /// A batch that ends because the service stops has not failed.
    @Test func stoppingIsNoFailure() async throws {
        let hasBegun = Mutex(false)
        let failed = Mutex(false)
        let table = Purger.Table("users") {
            hasBegun.withLock { $0 = true }
            try await Task.sleep(for: .seconds(3600))
            return nil
        }
        let purger = Purger([table], pause: .seconds(1800), logger: .quiet) { _ in failed.withLock { $0 = true } }
        let purging = Task { await purger.run() }
        try await eventually("the batch has begun") { hasBegun.withLock { $0 } }
        purging.cancel()
        await purging.value
        #expect(!failed.withLock { $0 })
    }
}
