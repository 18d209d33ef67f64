import Contracts
import Foundation
import Sealing

/// Issues device tokens and reads them.
struct DeviceTokens: Sendable {
    private let keys: KeyRing

    /// - Parameter keys: those of the passwords' pepper. Tokens that were signed under one that is taken out of its file
    ///   say nothing any more.
    init(keys: KeyRing) {
        self.keys = keys.derived(for: "gatehouse identity device tokens")
    }

    /// For a user who has signed in on the device.
    /// - Parameter former: the token that the device showed. If it was this user's, the device stays the same one.
    func issue(to userID: UUID, renewing former: String?) -> String {
        let known = read(former).flatMap { $0.userID == userID ? $0.deviceID : nil }
        return DeviceToken(deviceID: known ?? UUID(), userID: userID, issuedAt: Self.now).signed(
            with: keys.current.secret)
    }

    func read(_ text: String?) -> DeviceToken? {
        text.flatMap { DeviceToken($0, keys: keys.all, now: Self.now) }
    }

    private static var now: Int64 { Int64(Date.now.timeIntervalSince1970) }
}
