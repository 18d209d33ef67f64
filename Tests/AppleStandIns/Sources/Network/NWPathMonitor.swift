public import Dispatch
import Synchronization

// Network, "NWPathMonitor"
public final class NWPathMonitor: Sendable {
    private let state = Mutex<(handler: (@Sendable (NWPath) -> Void)?, queue: DispatchQueue?)>((nil, nil))

    // Network, "init()"
    public init() {}

    // Network, "pathUpdateHandler"
    public var pathUpdateHandler: (@Sendable (NWPath) -> Void)? {
        get { state.withLock { $0.handler } }
        set { state.withLock { $0.handler = newValue } }
    }

    // Network, "start(queue:)"
    public func start(queue: DispatchQueue) {
        state.withLock { $0.queue = queue }
        SimulatedNetwork.add(self)
    }

    // Network, "cancel()"
    public func cancel() {
        state.withLock { $0 = (nil, nil) }
        SimulatedNetwork.remove(self)
    }

    func deliver(_ path: NWPath) {
        let (handler, queue) = state.withLock { ($0.handler, $0.queue) }
        guard let handler, let queue else { return }
        queue.async { handler(path) }
    }
}

// Network, "NWPath"
public struct NWPath: Sendable {
    // Network, "NWPath.Status"
    public enum Status: Sendable {
        case satisfied, unsatisfied, requiresConnection
    }

    // Network, "status"
    public let status: Status
}

/// For tests: the device's network, which all tests share.
public enum SimulatedNetwork {
    private static let state = Mutex<(path: NWPath, monitors: [NWPathMonitor])>((NWPath(status: .satisfied), []))

    public static func change(to status: NWPath.Status) {
        let monitors = state.withLock {
            $0.path = NWPath(status: status)
            return $0.monitors
        }
        for monitor in monitors { monitor.deliver(NWPath(status: status)) }
    }

    static func add(_ monitor: NWPathMonitor) {
        let path = state.withLock {
            $0.monitors.append(monitor)
            return $0.path
        }
        monitor.deliver(path)
    }

    static func remove(_ monitor: NWPathMonitor) {
        state.withLock { $0.monitors.removeAll { $0 === monitor } }
    }
}
