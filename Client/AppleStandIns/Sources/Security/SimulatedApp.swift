public import Dispatch

/// For tests: an app, or another process of one, on a ``SimulatedDevice``.
///
/// What the functions of Security do depends on who calls them. Here it is the app whose ``queue`` they are called on;
/// elsewhere there is no Keychain (`errSecNotAvailable`). Tests that run at the same time do not see each other.
public struct SimulatedApp: Sendable {
    public let device: SimulatedDevice
    /// Of the app's entitlements; new items go to the first.
    public let accessGroups: [String]

    private static let key = DispatchSpecificKey<SimulatedApp>()

    public init(on device: SimulatedDevice, accessGroups: [String]) {
        self.device = device
        self.accessGroups = accessGroups
    }

    /// A new queue of this app's.
    public func queue() -> DispatchQueue {
        let queue = DispatchQueue(label: "app")
        queue.setSpecific(key: Self.key, value: self)
        return queue
    }

    static var current: SimulatedApp? { DispatchQueue.getSpecific(key: key) }
}
