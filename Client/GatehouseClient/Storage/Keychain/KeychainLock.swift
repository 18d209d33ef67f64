#if canImport(Security)
    import Dispatch
    import Foundation
    import Security

    /// The lock of an app group's Keychain session.
    enum KeychainLock {
        #if os(macOS)
            static let keepAwake: FileLock.KeepAwake? = nil
        #else
            /// Asks the system not to suspend the process. The system ends a process that is suspended while it holds a
            /// lock in an app group's container (Apple: "Understanding the exception types in a crash report",
            /// 0xdead10cc).
            static let keepAwake: FileLock.KeepAwake? = { expire in
                // The system gives the process time until this block returns.
                let isOver = DispatchSemaphore(value: 0)
                ProcessInfo.processInfo.performExpiringActivity(withReason: "refreshing the session") { hasExpired in
                    if hasExpired { expire() } else { isOver.wait() }
                }
                return { isOver.signal() }
            }
        #endif
    }
#endif
