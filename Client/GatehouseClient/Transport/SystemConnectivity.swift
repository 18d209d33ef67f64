#if canImport(Network)
    import Dispatch
    public import Foundation
    import Network

    /// What the system knows of the network (`NWPathMonitor`).
    ///
    /// Also with a path a server may be out of reach: it only tells when trying is of no use.
    public final class SystemConnectivity: Connectivity {
        private let monitor = NWPathMonitor()
        /// A lock with a number in it: ``unknown``, ``online`` or ``offline``.
        private let state = NSConditionLock(condition: SystemConnectivity.unknown)

        private static let unknown = 0
        private static let online = 1
        private static let offline = 2

        public init() {
            monitor.pathUpdateHandler = { [state] path in
                state.lock()
                state.unlock(withCondition: Self.isOnline(path) ? Self.online : Self.offline)
            }
            monitor.start(queue: Self.queue)
        }

        deinit { monitor.cancel() }

        /// Until the system has told for the first time, `true`.
        public var isOnline: Bool { state.condition != Self.offline }

        /// A server on this machine is reached without a network, on a Mac in flight mode for example.
        public func isOnline(for url: URL) -> Bool { isOnline || url.isOfThisMachine }

        public var changes: AsyncStream<Bool> {
            AsyncStream { continuation in
                let monitor = NWPathMonitor()
                monitor.pathUpdateHandler = { continuation.yield(Self.isOnline($0)) }
                continuation.onTermination = { _ in monitor.cancel() }
                monitor.start(queue: Self.queue)
            }
        }

        private static let queue = DispatchQueue(label: "gatehouse.connectivity")

        /// `requiresConnection` is a path that the system opens when somebody asks for it.
        private static func isOnline(_ path: NWPath) -> Bool { path.status != .unsatisfied }
    }
#endif
