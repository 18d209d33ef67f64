import Foundation

/// A priority below the process's own, for threads whose work can wait: while others want the processors, these get
/// little of them.
public struct LowerPriority: Sendable {
    #if !canImport(Darwin)
        private let nice: Int32

        /// Each ten steps are a tenth of the time where both want it (sched(7)).
        private static let steps: Int32 = 10
        private static let lowest: Int32 = 19
        private static let thread = __priority_which_t(PRIO_PROCESS.rawValue)
    #endif

    /// Ten steps below the calling thread.
    public init() {
        #if !canImport(Darwin)
            nice = min(getpriority(Self.thread, 0) + Self.steps, Self.lowest)
        #endif
    }

    /// Gives it to the calling thread, which keeps it. To do so again changes nothing.
    public func apply() {
        #if canImport(Darwin)
            pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0)
        #else
            // On Linux each thread has a priority of its own, and 0 is the calling one (setpriority(2)).
            _ = setpriority(Self.thread, 0, nice)
        #endif
    }
}
