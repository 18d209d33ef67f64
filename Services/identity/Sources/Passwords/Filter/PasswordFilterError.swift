import Foundation

/// A filter of breached passwords cannot be made or read. Its text is for whoever runs Gatehouse.
public struct PasswordFilterError: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }

    /// Why the system's last call failed.
    static var system: String { String(cString: strerror(errno)) }
}
