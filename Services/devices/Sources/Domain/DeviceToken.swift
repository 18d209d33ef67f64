import Bytes

/// The address that APNs gave an app on a device. Whoever knows it can register the device as theirs, so it is never
/// shown.
struct DeviceToken: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    static let maximumDigits = 2048

    let bytes: [UInt8]

    /// Parses hexadecimal digits of either case. Apple does not fix the length.
    init?(hex: String) {
        let digits = hex.utf8
        guard !digits.isEmpty, digits.count <= Self.maximumDigits, digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        var high: UInt8?
        for digit in digits {
            guard let value = Hexadecimal.value(digit) else { return nil }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        self.bytes = bytes
    }

    var description: String { "DeviceToken(\(bytes.count) bytes)" }
    var customMirror: Mirror { Mirror(self, children: ["count": bytes.count]) }
}
