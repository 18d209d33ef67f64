public import Dispatch

/// For tests: a process of an app on a ``SimulatedDevice``.
///
/// The functions of Security depend on the calling app. Here the caller is the app that owns the current ``queue``.
/// Elsewhere no Keychain is available (`errSecNotAvailable`). So concurrent tests do not share items.
public struct SimulatedApp: Sendable {
    public let device: SimulatedDevice
    /// The groups in the app's entitlements. New items are added to the first.
    public let accessGroups: [String]

    private static let key = DispatchSpecificKey<SimulatedApp>()

    public init(on device: SimulatedDevice, accessGroups: [String]) {
        self.device = device
        self.accessGroups = accessGroups
    }

    /// Returns a new queue of this app.
    public func queue() -> DispatchQueue {
        let queue = DispatchQueue(label: "app")
        queue.setSpecific(key: Self.key, value: self)
        return queue
    }

    public static var current: SimulatedApp? { DispatchQueue.getSpecific(key: key) }
}
