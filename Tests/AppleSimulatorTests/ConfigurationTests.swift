import GatehouseServiceKit
import GatehouseSettings
import Testing

@testable import AppleSimulator

@Suite struct ConfigurationTests {
    @Test(
        "Production, an unnamed environment, a certificate without its key: it does not start",
        arguments: [
            [:], ["GATEHOUSE_ENVIRONMENT": "production"],
            ["GATEHOUSE_ENVIRONMENT": "development", "APPLE_SIMULATOR_APNS_CERTIFICATE_FILE": "/a.pem"],
        ] as [[String: String]])
    func unfitSettings(_ environment: [String: String]) {
        #expect(throws: SettingsError.self) {
            try ServiceConfiguration<AppleSimulatorApplication>.load(environment: environment)
        }
    }
}
