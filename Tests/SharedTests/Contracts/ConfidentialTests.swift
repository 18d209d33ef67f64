import Foundation
import GatehouseServiceContracts
import Testing

struct ConfidentialTests {
    @Test(
        arguments: [
            PasswordResetMessage(channel: "email", to: "ada@example.com", token: "open-sesame", expiresAt: Date()),
            AppleNotificationRequest(payload: "open-sesame"), RefreshRequest(refreshToken: "open-sesame"),
        ] as [any Confidential & Sendable])
    func aSecretIsNotPrinted(value: any Confidential & Sendable) {
        var dumped = ""
        dump(value, to: &dumped)
        for text in ["\(value)", String(reflecting: value), dumped] { #expect(!text.contains("open-sesame")) }
    }
}
