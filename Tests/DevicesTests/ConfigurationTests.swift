import GatehouseSettings
import TestKit
import Testing

@testable import DevicesService

@Suite struct ConfigurationTests {
    @Test func everySettingIsDescribed() { #expect(undescribedSettings(of: DevicesApplication.self).isEmpty) }

    private func problems(_ environment: [String: String]) -> [String] {
        let settings = Settings(
            service: "devices",
            environment: environment.merging(["GATEHOUSE_ENVIRONMENT": "development"]) { given, _ in given })
        _ = DevicesConfiguration(settings: settings)
        do { try settings.finish() } catch { return error.problems.map { "\($0.name) \($0.message)" } }
        return []
    }

    /// Otherwise keys would be made up at each start, and no token could be found or opened after the next.
    @Test func aFileOfKeysHoldsKeys() throws {
        let files = try TemporaryFiles()
        defer { files.remove() }
        for name in ["DEVICES_TOKEN_KEYS_FILE", "DEVICES_TOKEN_HASH_KEY_FILE"] {
            for text in ["", "# development\n", "1:short\n"] {
                let found = problems([name: try files.write(text)])
                #expect(found.count { $0.hasPrefix(name) } == 1, "\(text.debugDescription): \(found)")
            }
            #expect(problems([:]).count { $0.hasPrefix(name) } == 1)
            #expect(!problems([name: try files.write(TestRegistry.keyLine("1"))]).contains { $0.hasPrefix(name) })
        }
    }

    /// A second key would do nothing, and its operator would think that the first can go.
    @Test func tokensAreHashedUnderOneKey() throws {
        let files = try TemporaryFiles()
        defer { files.remove() }
        let two = try files.write(TestRegistry.keyLine("1") + TestRegistry.keyLine("2"))
        let found = problems(["DEVICES_TOKEN_KEYS_FILE": two, "DEVICES_TOKEN_HASH_KEY_FILE": two])
        #expect(found.contains { $0.hasPrefix("DEVICES_TOKEN_HASH_KEY_FILE") })
        #expect(!found.contains { $0.hasPrefix("DEVICES_TOKEN_KEYS_FILE") })
    }

    @Test func aDeviceIsNotErasedBeforeThePause() {
        func isRefused(_ pause: String, _ retention: String) -> Bool {
            problems(["DEVICES_UNSEEN_PAUSE_DAYS": pause, "DEVICES_UNSEEN_RETENTION_DAYS": retention])
                .contains { $0.hasPrefix("DEVICES_UNSEEN_") }
        }
        #expect(isRefused("61", "60") && isRefused("0", "60") && !isRefused("60", "60"))
    }
}
