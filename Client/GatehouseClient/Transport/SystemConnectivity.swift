#if canImport(Network)
    import Dispatch
    public import Foundation
    import Network

    /// Connectivity as the system reports it (`NWPathMonitor`).
    ///
    /// A server may be unreachable although a path exists. The monitor reports only that an attempt is useless.
    public final class SystemConnectivity: GatehouseConnectivity {
        private let monitor = NWPathMonitor()
        /// The system's last report; `true` until its first.
        private let lastReport = Locked(true)

        public init() {
            monitor.pathUpdateHandler = { [lastReport] path in lastReport.withLock { $0 = Self.isOnline(path) } }
            monitor.start(queue: Self.queue)
        }

        deinit { monitor.cancel() }

        /// `true` until the system's first report.
        public var isOnline: Bool { lastReport.withLock { $0 } }

        /// A server on this machine can be reached without a network, for example on a Mac in flight mode.
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

        /// `requiresConnection` counts as online: the system opens such a path on demand.
        private static func isOnline(_ path: NWPath) -> Bool { path.status != .unsatisfied }
    }
#endif
