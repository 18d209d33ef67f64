#if os(Linux)
    import Foundation
    import Testing
    import GatehouseThreads

    @Suite struct LowerPriorityTests {
        /// The calling thread's.
        private static var nice: Int32 { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) }

        @Test func aThreadGivesWayAndNoOther() async throws {
            let own = Self.nice
            let (given, again) = try await withCheckedThrowingContinuation { continuation in
                do {
                    try SystemThread.start("hashing") {
                        let priority = LowerPriority()
                        priority.apply()
                        let given = Self.nice
                        priority.apply()
                        continuation.resume(returning: (given, Self.nice))
                    }
                } catch {
                    continuation.resume(throwing: error)
                }
            }
            #expect(given == min(own + 10, 19) && again == given)
            #expect(Self.nice == own)
        }
    }
#endif
