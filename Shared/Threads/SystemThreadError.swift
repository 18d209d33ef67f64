import Foundation

/// The system has no thread left for this process.
public struct SystemThreadError: Error, CustomStringConvertible {
    /// As `pthread_create` returns it.
    public let status: Int32

    public var description: String { "no thread: \(String(cString: strerror(status)))" }
}
