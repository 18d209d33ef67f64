import Foundation
import ServiceKit
import Settings
import Testing

@testable import TokensService

@Suite struct KeySettingsTests {
    @Test func areTheServicesOwnWhereverTheyStand() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).yaml").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        try "tokens: {accessTokenLifetime: 7200, signingKeyFile: /keys/a.pem, issuer: x}".write(
            toFile: file, atomically: true, encoding: .utf8)
        let read = try KeySettings(environment: ["TOKENS_CONFIG_FILE": file])
        #expect(read.accessTokenLifetime == 7200 && read.signingKeyFile == "/keys/a.pem")
        let overridden = try KeySettings(
            environment: ["TOKENS_CONFIG_FILE": file, "TOKENS_ACCESS_TOKEN_LIFETIME": "60"])
        #expect(overridden.accessTokenLifetime == 60)
        #expect(try KeySettings(environment: [:]).accessTokenLifetime == 3600)
        #expect(throws: SettingsError.self) {
            try KeySettings(environment: ["TOKENS_ACCESS_TOKEN_LIFETIME": "an hour"])
        }
        #expect(throws: SettingsError.self) { try KeySettings(environment: ["TOKENS_CONFIG_FILE": file + "2"]) }
    }
}
