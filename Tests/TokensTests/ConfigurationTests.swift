import Foundation
import GatehouseServiceKit
import GatehouseSettings
import TestKit
import Testing

@testable import TokensService

@Suite struct ConfigurationTests {
    @Test func everySettingIsDescribed() { #expect(undescribedSettings(of: TokensApplication.self).isEmpty) }

    /// RFC 8414 §2.
    @Test(arguments: [
        ("https://auth.example.com", false), ("https://auth.example.com:8443/a", false),
        ("http://auth.example.com", true), ("auth.example.com", true), ("https://", true),
        ("https://auth.example.com?a", true), ("https://auth.example.com#a", true),
    ])
    func theIssuerIsAnAddressInProduction(issuer: String, isRefused: Bool) {
        #expect(complaints(["TOKENS_ISSUER": issuer]) == (isRefused ? 1 : 0))
        #expect(complaints(["TOKENS_ISSUER": issuer, "GATEHOUSE_ENVIRONMENT": "development"]) == 0)
    }

    @Test func theIssuerMustBeSetInProductionAlone() {
        #expect(complaints([:]) == 1)
        #expect(complaints(["GATEHOUSE_ENVIRONMENT": "development"]) == 0)
    }

    @Test func theKeyCommandsReadTheServicesSettings() throws {
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

    /// How many problems with the issuer are reported, among those with everything that is missing.
    private func complaints(_ environment: [String: String]) -> Int {
        let settings = Settings(service: "tokens", environment: environment)
        _ = try? TokensConfiguration(settings: settings)
        do {
            try settings.finish()
            return 0
        } catch {
            return error.problems.count(where: { $0.name.contains("TOKENS_ISSUER") })
        }
    }
}
