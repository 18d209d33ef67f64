import Crypto
import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import GatehouseSettings
import TestKit
import Testing

@testable import DevicesService

@Suite struct PushConfigurationTests {
    private func problems(
        _ variables: [String: String], environment: String = "development"
    ) -> (PushConfiguration, [String]) {
        let settings = Settings(
            service: "devices",
            environment: variables.merging(["GATEHOUSE_ENVIRONMENT": environment]) { given, _ in given })
        let configuration = PushConfiguration(settings: settings, reservedCallers: ["gateway"])
        do { try settings.finish() } catch { return (configuration, error.problems.map { "\($0.name) \($0.message)" }) }
        return (configuration, [])
    }

    @Test func callersHaveACredentialAppsAndTypes() throws {
        let good = "{name: a, credential: dev-secret, bundleIds: [com.example.app], pushTypes: [alert, voip]}"
        let callers = try PushCallers(yaml: "callers: [\(good)]", reserved: [])
        #expect(callers.names == ["a"] && callers.credentials.caller(presenting: "dev-secret") == "a")
        #expect(callers.callers["a"]?.allows(.voip, to: "com.example.app") == true)
        #expect(callers.callers["a"]?.allows(.background, to: "com.example.app") == false)
        #expect(callers.callers["a"]?.quietHours == nil && callers.callers["a"]?.capPerDay == nil)
        let limited = good.replacing("}", with: ", quietHours: {from: 22:00, to: 07:00}, capPerDay: 3}")
        let caller = try PushCallers(yaml: "callers: [\(limited)]", reserved: []).callers["a"]
        #expect(caller?.quietHours == QuietHours(from: "22:00", to: "07:00") && caller?.capPerDay == 3)
        #expect(caller?.tagSpace == TagSpace(name: "a"))
        let sharing = good.replacing("}", with: ", tags: team}")
        let sharer = try PushCallers(yaml: "callers: [\(sharing)]", reserved: []).callers["a"]
        #expect(sharer?.tagSpace == TagSpace(name: "team"))
        for wrong in [
            "callers: [\(good.replacing("}", with: ", tags: a}"))]",
            "callers: [\(good.replacing("}", with: ", tags: 'a b'}"))]",
            "callers: [\(good.replacing("}", with: ", tags: ''}"))]",
            "", "[]", "callers: []", "callers: [a]", "other: [\(good)]", "callers: [\(good), \(good)]",
            "callers: [\(good.replacing("name: a", with: "name: gateway"))]",
            "callers: [\(good.replacing("name: a", with: "name: ''"))]",
            "callers: [\(good), \(good.replacing("name: a", with: "name: b"))]",
            "callers: [\(good.replacing("dev-secret", with: "short"))]",
            "callers: [\(good.replacing("voip", with: "widgets"))]",
            "callers: [\(good.replacing("voip", with: "fax"))]",
            "callers: [\(good.replacing("com.example.app", with: "'a b'"))]",
            "callers: [\(good.replacing("pushTypes", with: "types"))]",
            "callers: [\(good.replacing("}", with: ", more: 1}"))]",
            "callers: [\(good.replacing("}", with: ", capPerDay: 0}"))]",
            "callers: [\(good.replacing("}", with: ", capPerDay: 101}"))]",
            "callers: [\(good.replacing("}", with: ", capPerDay: [1]}"))]",
            "callers: [\(good.replacing("}", with: ", quietHours: 22}"))]",
            "callers: [\(good.replacing("}", with: ", quietHours: {from: '22:00'}}"))]",
            "callers: [\(good.replacing("}", with: ", quietHours: {from: '22:00', to: '7:00'}}"))]",
            "callers: [\(good.replacing("}", with: ", quietHours: {from: '22:00', to: '22:00'}}"))]",
        ] {
            let error = #expect(throws: InvalidPushFile.self) { try PushCallers(yaml: wrong, reserved: ["gateway"]) }
            #expect(error?.description.contains("dev-secret") == false, "\(wrong)")
        }
    }

    @Test func keysHaveATeamAnIdAndAText() throws {
        let files = try TemporaryFiles()
        defer { files.remove() }
        let pem = P256.Signing.PrivateKey().pemRepresentation
        let path = try files.write(pem)
        let good = "{team: ABCDE12345, keyId: KEY1234567, file: '\(path)', topics: [com.example.app]}"
        let key = try #require(try APNsKey.list(yaml: "keys: [\(good)]").first)
        #expect(key.environments == Set(PushEnvironment.known) && key.privateKey.pemRepresentation == pem)
        #expect(key.isFor("com.example.app") && !key.isFor("com.example.other"))
        let inline = """
            keys:
              - team: ABCDE12345
                keyId: KEY1234567
                environments: sandbox
                pem: |
                  \(pem.replacing("\n", with: "\n      "))
            """
        let other = try #require(try APNsKey.list(yaml: inline).first)
        #expect(other.environments == [.sandbox] && other.isFor("com.example.other"))
        for wrong in [
            "keys: []", "keys: [\(good), \(good)]", "keys: [\(good.replacing("ABCDE12345", with: "ABC"))]",
            "keys: [\(good.replacing("KEY1234567", with: "KEY_234567"))]",
            "keys: [\(good.replacing(path, with: "/nowhere"))]", "keys: [\(good.replacing("file:", with: "pem:"))]",
            "keys: [\(good.replacing("}", with: ", pem: x}"))]", "keys: [{team: ABCDE12345, keyId: KEY1234567}]",
            "keys: [\(good.replacing("}", with: ", environments: moon}"))]",
            "keys: [\(good.replacing("[com.example.app]", with: "['a b']"))]",
        ] {
            #expect(throws: InvalidPushFile.self, "\(wrong)") { try APNsKey.list(yaml: wrong) }
        }
    }

    /// A provider token in the clear could be used by a reader of the network.
    @Test func productionNeedsTLS() {
        for key in [
            "DEVICES_APNS_PRODUCTION_URL", "DEVICES_APNS_SANDBOX_URL", "DEVICES_APNS_PRODUCTION_BROADCAST_URL",
            "DEVICES_APNS_SANDBOX_BROADCAST_URL", "DEVICES_APNS_PRODUCTION_CHANNELS_URL",
            "DEVICES_APNS_SANDBOX_CHANNELS_URL",
        ] {
            let address = [key: "http://127.0.0.1:1"]
            #expect(problems(address).1.isEmpty)
            #expect(problems(address, environment: "production").1.contains { $0.hasPrefix(key) })
        }
        let apple = problems([:]).0.endpoints
        #expect(apple.production.authority == "api.push.apple.com")
        #expect(apple.sandbox.authority == "api.sandbox.push.apple.com")
        #expect(apple.productionChannels.authority == "api-manage-broadcast.push.apple.com:2196")
        #expect(apple.sandboxChannels.authority == "api-manage-broadcast.sandbox.push.apple.com:2195")
        // Broadcasts go where other pushes go.
        #expect(apple.servers(of: .sandbox).map(\.uses) == [[.pushes, .broadcasts], [.channels]])
        let other = problems(["DEVICES_APNS_SANDBOX_BROADCAST_URL": "https://api-broadcast.example.com"]).0.endpoints
        #expect(other.servers(of: .sandbox).map(\.uses) == [[.pushes], [.broadcasts], [.channels]])
        #expect(other.servers(of: .production).map(\.uses) == [[.pushes, .broadcasts], [.channels]])
    }

    @Test func filesAreSettings() throws {
        let files = try TemporaryFiles()
        defer { files.remove() }
        let path = try files.write("nothing: 1\n")
        for key in ["DEVICES_PUSH_CALLERS_FILE", "DEVICES_APNS_KEYS_FILE"] {
            #expect(problems([key: path]).1.count { $0.hasPrefix(key) } == 1)
        }
        #expect(problems([:]).0.keys.isEmpty && problems([:]).0.callers.names.isEmpty)
    }

    // MARK: - Doctor

    @Test func theDoctorSaysWhatKeepsPushesFromBeingSent() throws {
        var configuration = problems([:]).0
        #expect(configuration.findings.map(\.severity) == [.fine])
        configuration.callers = try PushCallers(
            yaml: "callers: [{name: a, credential: dev-secret, bundleIds: [com.example.app], pushTypes: [alert]}]",
            reserved: [])
        #expect(configuration.findings.map(\.severity) == [.warning])
        configuration.keys = [try TestAPNs.key(topics: ["com.example.other"])]
        #expect(configuration.findings.map(\.severity) == [.fine, .problem])
        configuration.callers = PushCallers()
        #expect(configuration.findings.map(\.severity) == [.fine, .warning])
    }
}
