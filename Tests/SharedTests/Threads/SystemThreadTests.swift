import Foundation
import GatehouseThreads
import Testing

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
        let error = #expect(throws: SystemThreadError.self) {
            try SystemThread.start("postgres", stackSize: 1 << 50) {}
        }
        #expect(error?.status == EAGAIN || error?.status == EINVAL || error?.status == ENOMEM)
        #expect(error?.description.hasPrefix("no thread: ") == true)
    }
}
