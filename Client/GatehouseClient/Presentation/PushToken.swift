public import Foundation

/// A device token of Apple's push service, as the server takes it: hexadecimal digits, of no fixed length.
///
/// Whoever knows it can claim the device: it is neither printed nor kept.
public struct PushToken: Sendable, Equatable {
    public let hexadecimal: Redacted<String>

    /// - Parameter deviceToken: what `application(_:didRegisterForRemoteNotificationsWithDeviceToken:)` is given.
    public init(_ deviceToken: Data) {
        let digits = Array("0123456789abcdef")
        hexadecimal = Redacted(String(deviceToken.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }))
    }

    /// Tells one token from another, and nothing of either (FNV-1a).
    var fingerprint: UInt64 {
        hexadecimal.value.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}
