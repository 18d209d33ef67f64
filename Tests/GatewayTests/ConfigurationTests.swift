import Foundation
import GatehouseServiceKit
import GatehouseSettings
import TestKit
import Testing

@testable import GatewayService

@Suite("Settings")
struct ConfigurationTests {
    private func problems(_ changes: [String: String] = [:]) -> [String] {
        let settings = Settings(
            service: "gateway",
            environment: [
                "GATEHOUSE_ENVIRONMENT": "development", "GATEWAY_TOKENS_URL": "http://127.0.0.1:1",
                "GATEWAY_IDENTITY_URL": "http://127.0.0.1:2,http://127.0.0.1:3",
                "GATEWAY_DEVICES_URL": "http://127.0.0.1:4", "GATEWAY_TOKENS_CREDENTIAL": "dev-a",
                "GATEWAY_IDENTITY_CREDENTIAL": "dev-b", "GATEWAY_DEVICES_CREDENTIAL": "dev-c",
            ].merging(changes) { $1 })
        _ = GatewayConfiguration(settings)
        do throws(SettingsError) {
            try settings.finish()
            return []
        } catch {
            return error.problems.map { "\($0.name) \($0.message)" }
        }
    }

    @Test("Every setting is described, also those that others bring")
    func everySettingIsDescribed() { #expect(undescribedSettings(of: GatewayApplication.self).isEmpty) }

    @Test("The share of answers in the access log is a percentage, with decimals")
    func accessLogShare() {
        for text in ["0", "100", "0.1", "33.3"] { #expect(problems(["GATEWAY_ACCESS_LOG_PERCENT": text]).isEmpty) }
        for text in ["-1", "100.1", "nan", "inf", "x", "1%"] {
            let problems = problems(["GATEWAY_ACCESS_LOG_PERCENT": text])
            #expect(problems.count == 1 && problems[0].hasSuffix("must be a number from 0 to 100, not '\(text)'"))
        }
    }

    @Test("Fields that the gateway acts on are not the operator's to drop")
    func droppedFields() {
        #expect(problems(["GATEWAY_DROPPED_FIELDS": "Fastly-Client-IP,X-Azure-ClientIP"]).isEmpty)
        for text in ["Authorization", "X-Forwarded-For", "gatehouse-role", "a b", "é"] {
            #expect(problems(["GATEWAY_DROPPED_FIELDS": "X-Fine,\(text)"]).count == 1, "\(text)")
        }
    }

    @Test("A body's time is counted however long the body is")
    func longestTimeOfABody() {
        var settings = GatewaySettings()
        settings.minimumBodyRate = 500
        #expect(settings.longestTime(ofBody: 0) == 0)
        #expect(settings.longestTime(ofBody: 250) == 500_000_000)
        #expect(settings.longestTime(ofBody: 1 << 50) >= 1 << 50)
        settings.minimumBodyRate = 1
        #expect(settings.longestTime(ofBody: .max) == 1 << 62)
    }

    @Test("A file of keys has to hold keys that will do", arguments: ["", "junk", "# development\n"])
    func badKeysFile(_ text: String) throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).pem").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        for path in [path, "/does/not/exist"] {
            let problems = problems(["GATEWAY_KEYS_FILE": path])
            #expect(problems.count == 1 && problems[0].hasPrefix("GATEWAY_KEYS_FILE"), "\(problems)")
        }
    }

    @Test("A file of keys is not UTF-8: the problem says so")
    func badKeysFileReason() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).pem").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data([0xFF, 0xFE]).write(to: URL(fileURLWithPath: path))
        let problems = problems(["GATEWAY_KEYS_FILE": path])
        #expect(problems.count == 1)
        #expect(problems.allSatisfy { $0.hasSuffix(" cannot be used: \(path): The file is not text in UTF-8.") })
    }

    @Test("Keys that would be too old between two fetches are not asked for", arguments: ["0", "14"])
    func shortStaleness(_ seconds: String) {
        let problems = problems(["GATEWAY_KEYS_MAX_STALENESS": seconds])
        #expect(problems.count == 1 && problems[0].hasPrefix("GATEWAY_KEYS_MAX_STALENESS"), "\(problems)")
        #expect(self.problems(["GATEWAY_KEYS_MAX_STALENESS": "15"]).isEmpty)
    }

    @Test(
        "The API's places are plain paths",
        arguments: ["/", "v1", "/v1/", "/v1,/v1", "/internal/x", "/{x}", "/a//b"])
    func basePaths(_ paths: String) {
        let problems = problems(["GATEWAY_BASE_PATHS": paths])
        #expect(problems.count == 1 && problems[0].hasSuffix("must be plain paths like /v1, each once"))
        #expect(self.problems(["GATEWAY_BASE_PATHS": "/sign-in/v1"]).isEmpty)
    }

    @Test("The required settings alone: they are valid")
    func good() { #expect(problems().isEmpty) }

    @Test(
        "Addresses at which no service can be are reported, one problem each",
        arguments: ["http://127.0.0.1:99999", "http://127.0.0.1:0", ",", "https://x", "127.0.0.1:80"])
    func badAddress(_ address: String) {
        for name in ["GATEWAY_TOKENS_URL", "GATEWAY_DEVICES_URL"] {
            let problems = problems([name: address])
            #expect(problems.count == 1 && problems[0].hasPrefix(name), "\(problems)")
        }
    }
}
