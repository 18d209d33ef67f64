public import Foundation

/// Tells whether there is a network at all, so that a request without one fails at once.
public protocol Connectivity: Sendable {
    /// `false` only where it is certain that nothing can be reached.
    var isOnline: Bool { get }

    /// The same for one address: this machine can be reached without a network. By default ``isOnline``.
    func isOnline(for url: URL) -> Bool

    /// Each change, from now on, and perhaps a value that is no change; ends when whoever iterates ends.
    var changes: AsyncStream<Bool> { get }
}

extension Connectivity {
    public func isOnline(for url: URL) -> Bool { isOnline }
}

/// For systems that do not tell: every request is tried.
public struct AlwaysOnline: Connectivity {
    public init() {}

    public var isOnline: Bool { true }

    public var changes: AsyncStream<Bool> { AsyncStream { $0.finish() } }
}
