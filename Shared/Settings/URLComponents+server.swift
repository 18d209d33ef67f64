public import Foundation

extension URLComponents {
    /// Whether the address names a host and, where it names a port, one from 1 to 65535.
    public var namesServer: Bool {
        host?.isEmpty == false && (rangeOfPort == nil || (1...65_535).contains(port ?? 0))
    }
}
