import Foundation
import ServiceKit
import Testing

@testable import IdentityService

@Suite struct ConfigurationTests {
    @Test(arguments: [(0o600, false), (0o640, false), (0o644, true), (0o602, true)])
    func applesKeyMayNotBeOpenToEverybody(mode: Int, isRefused: Bool) throws {
        let files = try TemporaryFiles()
        defer { files.remove() }
        let key = try files.write(TestKeys.clientSecret)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: key)
        let settings = Settings(
            service: "identity",
            environment: [
                "GATEHOUSE_ENVIRONMENT": "development", "IDENTITY_APPLE_TEAM_ID": "TEAM123456",
                "IDENTITY_APPLE_KEY_ID": "KEY1234567", "IDENTITY_APPLE_PRIVATE_KEY_FILE": key,
            ])
        let apple = IdentityConfiguration.Apple(settings: settings)
        #expect(apple.clientSecret != nil)
        var refused: [String] = []
        do { try settings.finish() } catch { refused = error.problems.map(\.name) }
        #expect(refused.contains { $0.contains("IDENTITY_APPLE_PRIVATE_KEY_FILE") } == isRefused)
        #expect(refused.count == (isRefused ? 1 : 0))
    }
}
