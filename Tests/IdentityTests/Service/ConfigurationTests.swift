import Foundation
import GatehouseServiceKit
import GatehouseSettings
import TestKit
import Testing

@testable import IdentityCredentials
@testable import IdentityService

@Suite struct ConfigurationTests {
    private func problems(_ environment: [String: String]) -> [String] {
        let settings = Settings(
            service: "identity",
            environment: environment.merging(["GATEHOUSE_ENVIRONMENT": "development"]) { given, _ in given })
        _ = IdentityConfiguration(settings: settings)
        do { try settings.finish() } catch { return error.problems.map { "\($0.name) \($0.message)" } }
        return []
    }

    @Test func everySettingIsDescribed() { #expect(undescribedSettings(of: IdentityApplication.self).isEmpty) }

    @Test(arguments: ["IDENTITY_REDIS_URL", "IDENTITY_PHONE_CALLING_CODE"])
    func whatCannotBeUsedIsFoundBeforeAnythingRuns(name: String) {
        let found = problems([name: "hush://hush"])
        #expect(found.contains { $0.hasPrefix(name) }, "\(found)")
        #expect(!found.contains { $0.contains("hush") })
    }

    @Test(arguments: ["MESSAGE", "RESET"])
    func hooksAreNotCalledWithoutTLSInProduction(name: String) {
        func isRefused(_ url: String, _ further: [String: String] = [:]) -> Bool {
            let hook = ["IDENTITY_\(name)_HOOK_URL": url, "IDENTITY_\(name)_HOOK_SECRET": "secret"]
            return problems(["GATEHOUSE_ENVIRONMENT": "production"].merging(hook) { $1 }.merging(further) { $1 })
                .contains { $0.hasPrefix("IDENTITY_\(name)_HOOK_URL") && $0.contains("IDENTITY_HOOKS_TLS") }
        }
        #expect(isRefused("http://hooks.example/") && isRefused("http://127.0.0.1.hooks.example/"))
        for url in ["https://hooks.example/", "http://127.0.0.1:8099/", "http://[::1]:8099/", "http://localhost/"] {
            #expect(!isRefused(url), "\(url)")
        }
        #expect(!isRefused("http://hooks.example/", ["IDENTITY_HOOKS_TLS": "optional"]))
        #expect(!isRefused("http://hooks.example/", ["GATEHOUSE_ENVIRONMENT": "development"]))
    }

    @Test(
        arguments: [
            ("MEMORY", 19_456, 131_072), ("ITERATIONS", 2, 10), ("PARALLELISM", 1, 4),
        ])
    func hashesAreNeitherTooCheapNorTooDear(name: String, least: Int, most: Int) {
        func isRefused(_ value: Int) -> Bool {
            problems(["IDENTITY_HASHING_\(name)": "\(value)"]).contains { $0.hasPrefix("IDENTITY_HASHING_") }
        }
        #expect(isRefused(least - 1) && isRefused(most + 1) && !isRefused(least) && !isRefused(most))
    }

    @Test(arguments: [("", true), ("c2hvcnQ=", true), ("not base64", true), (ForeignHashingTests.signerKey, false)])
    func firebasesKeyIsReadOrRefused(text: String, isRefused: Bool) throws {
        let files = try TemporaryFiles()
        defer { files.remove() }
        let file = try files.write(text)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        let found = problems(["IDENTITY_FIREBASE_SIGNER_KEY_FILE": file])
        #expect(found.contains { $0.hasPrefix("IDENTITY_FIREBASE_SIGNER_KEY_FILE") } == isRefused, "\(found)")
        #expect(!found.contains { $0.contains("c2hvcnQ") })
    }

    /// Otherwise keys would be made up at each start, and what they sealed could not be opened after the next.
    @Test func aFileOfKeysMayNotBeEmpty() throws {
        let files = try TemporaryFiles()
        defer { files.remove() }
        for text in ["", "\n", "# development\n"] {
            let file = try files.write(text)
            let found = problems(["IDENTITY_SEALING_KEYS_FILE": file, "IDENTITY_PEPPER_KEYS_FILE": file])
            for name in ["IDENTITY_SEALING_KEYS_FILE", "IDENTITY_PEPPER_KEYS_FILE"] {
                #expect(found.count { $0.hasPrefix(name) } == 1, "\(text.debugDescription): \(found)")
            }
        }
    }

    @Test func applesPageLeadsToHTTPSAlone() {
        let name = "IDENTITY_APPLE_REDIRECT_URIS"
        #expect(!problems([name: "https://shop.example/apple, https://shop.example"]).contains { $0.contains(name) })
        for wrong in ["http://shop.example/apple", "https://shop.example/#apple", "shop.example", "app://signed-in"] {
            let found = problems([name: "https://shop.example/apple,\(wrong)"]).filter { $0.contains(name) }
            #expect(found.count == 1 && found[0].contains("names \(wrong);"), "\(found)")
        }
    }

    /// Otherwise who has forgotten the setting would wonder why every token of Apple's is refused.
    @Test func applesKeyNeedsAnAppToBeOf() throws {
        let files = try TemporaryFiles()
        defer { files.remove() }
        let key = try files.write(TestKeys.clientSecret)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
        let settings = Settings(
            service: "identity",
            environment: [
                "IDENTITY_APPLE_TEAM_ID": "TEAM123456", "IDENTITY_APPLE_KEY_ID": "KEY1234567",
                "IDENTITY_APPLE_PRIVATE_KEY_FILE": key,
            ])
        #expect(!AppleConfiguration(settings: settings).isOffered)
        let error = #expect(throws: SettingsError.self) { try settings.finish() }
        #expect(
            error?.problems.contains {
                $0.name.hasPrefix("IDENTITY_APPLE_CLIENT_IDS") && $0.message == "is not set, but Apple's key is"
            } == true)
    }

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
        let apple = AppleConfiguration(settings: settings)
        #expect(apple.clientSecret != nil)
        var refused: [String] = []
        do { try settings.finish() } catch { refused = error.problems.map(\.name) }
        #expect(refused.contains { $0.contains("IDENTITY_APPLE_PRIVATE_KEY_FILE") } == isRefused)
        #expect(refused.count == (isRefused ? 1 : 0))
    }
}
