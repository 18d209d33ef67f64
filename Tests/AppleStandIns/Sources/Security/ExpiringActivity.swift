import Dispatch
public import Foundation
import Synchronization

// Foundation on Linux does not have this method, and a module named Foundation cannot be added.
extension ProcessInfo {
    public func performExpiringActivity(withReason reason: String, using block: @escaping @Sendable (Bool) -> Void) {
        ExpiringActivities.begun.withLock { $0.append(block) }
        DispatchQueue.global().async { block(false) }
    }
}

/// For tests: the activities of all simulated processes.
public enum ExpiringActivities {
    static let begun = Mutex<[@Sendable (Bool) -> Void]>([])

    /// The system is about to suspend the processes.
    public static func expireAll() { for block in begun.withLock({ $0 }) { block(true) } }
}
