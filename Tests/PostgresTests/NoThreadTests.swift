import GatehouseThreads
import Testing

@testable import Postgres

@Suite struct NoThreadTests {
    /// The system refuses a stack of so many bytes as it refuses one thread too many: at once.
    @Test func isAConnectionThatFailed() throws {
        let error = try #require(throws: SystemThreadError.self) {
            try SystemThread.start("postgres", stackSize: 1 << 50) {}
        }
        let failure = PostgresError(noThread: error)
        #expect(failure.code == .connectionFailed && failure.isUnavailable)
        #expect(failure.message.hasPrefix("no thread: "))
    }
}
