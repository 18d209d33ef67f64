public import Foundation

/// Reports whether a network is available, so that a request without one fails at once.
public protocol GatehouseConnectivity: Sendable {
    /// `false` only if the system is certain that no server can be reached.
    var isOnline: Bool { get }

    /// Like ``isOnline`` for one URL: this machine can be reached without a network. By default ``isOnline``.
    func isOnline(for url: URL) -> Bool

    /// Every change from now on. A value may repeat. The stream ends when its consumer stops iterating.
    var changes: AsyncStream<Bool> { get }
}

extension GatehouseConnectivity {
    public func isOnline(for url: URL) -> Bool { isOnline }
}

/// For systems that do not report connectivity: every request is attempted.
public struct AlwaysOnline: GatehouseConnectivity {
    public init() {}

    public var isOnline: Bool { true }

    public var changes: AsyncStream<Bool> { AsyncStream { $0.finish() } }
}
