import Foundation
@testable import Postgres
import Testing

/// Threads of connections and look-ups.
@Suite struct SystemThreadTests {
    @Test func aThreadRunsUnderItsName() async throws {
        let name = await withCheckedContinuation { continuation in
            do {
                try SystemThread.start("postgres") { continuation.resume(returning: Thread.current.name ?? "") }
            } catch {
                continuation.resume(returning: "\(error)")
            }
        }
        #expect(name == "postgres")
    }

    /// The system refuses a stack of so many bytes as it refuses one thread too many: at once.
    @Test func aThreadThatCannotBeHadIsAnError() {
        let error = #expect(throws: PostgresError.self) {
            try SystemThread.start("postgres", stackSize: 1 << 50) {}
        }
        #expect(error?.code == .connectionFailed)
        #expect(error?.isUnavailable == true)
    }
}
