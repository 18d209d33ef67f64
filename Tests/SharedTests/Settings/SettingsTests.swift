import Foundation
import Testing

@testable import GatehouseSettings

@Suite struct SettingsTests {
    private enum Mode: String, CaseIterable { case strict, resilient }

    private let development = ["GATEHOUSE_ENVIRONMENT": "development"]

    private func settings(_ environment: [String: String]) -> Settings {
        Settings(service: "tokens", environment: environment)
    }

    private func problems(_ settings: Settings) -> [String] {
        do {
            try settings.finish()
            return []
        } catch {
            return error.problems.map { "\($0.name) \($0.message)" }
        }
    }

    private func withFile(_ text: String, _ name: String, _ body: (String) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID())-\(name)").path
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path)
    }

    @Test func tracesByOpenTelemetrysVariables() throws {
        let variables = [
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318", "OTEL_TRACES_SAMPLER_ARG": "0.25",
            "OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20a%3Db, X-Tenant=shop",
        ]
        let endpoint = try #require(URL(string: "http://collector:4318"))
        let headers = ["Authorization": "Bearer a=b", "X-Tenant": "shop"]
        #expect(
            TraceSettings(settings(variables)) == TraceSettings(endpoint: endpoint, headers: headers, percent: 25))
        let own = try #require(URL(string: "http://own:1"))
        let overridden = variables.merging(
            [
                "GATEHOUSE_TRACES_ENDPOINT": "http://own:1", "GATEHOUSE_TRACES_HEADERS": "a=b",
                "GATEHOUSE_TRACES_PERCENT": "3",
            ]
        ) { $1 }
        #expect(TraceSettings(settings(overridden)) == TraceSettings(endpoint: own, headers: ["a": "b"], percent: 3))
        #expect(TraceSettings(settings(variables.merging(["OTEL_SDK_DISABLED": "true"]) { $1 })).endpoint == nil)
    }

    @Test(arguments: ["secret", "a b=secret", "=secret", "a=secret%0D%0AX: y", "a=secret%ff"])
    func headersOfTracesThatCannotBeSent(text: String) {
        let settings = settings(["GATEHOUSE_ENVIRONMENT": "development", "GATEHOUSE_TRACES_HEADERS": text])
        _ = TraceSettings(settings)
        let found = settings.failure.problems.map { "\($0.name) \($0.message)" }
        #expect(found.count == 1 && found[0].contains("GATEHOUSE_TRACES_HEADERS") && !found[0].contains("secret"))
    }

    @Test func readsEveryKind() throws {
        let settings = settings([
            "GATEHOUSE_ENVIRONMENT": "development", "TOKENS_ISSUER": "http://a", "TOKENS_RETRY_WINDOW": "60",
            "TOKENS_LIMIT": "3", "TOKENS_IDS": "a, b,,c", "TOKENS_ROTATION_MODE": "strict", "TOKENS_ON": "true",
            "TOKENS_PEER_URL": "http://a:1,http://b:2/", "TOKENS_LISTEN_ADDRESS": "[::1]:80",
            "TOKENS_DATABASE_URL": "postgres://x", "TOKENS_EMPTY": "",
        ])
        #expect(settings.environment == .development)
        #expect(settings.string("issuer") == "http://a")
        #expect(settings.seconds("retryWindow") == .seconds(60))
        #expect(settings.int("limit", in: 1...3) == 3)
        #expect(settings.strings("ids") == ["a", "b", "c"])
        #expect(settings.choice("rotationMode", default: Mode.resilient) == .strict)
        #expect(settings.bool("on", default: false))
        #expect(settings.urls("peerURL").map(\.absoluteString) == ["http://a:1", "http://b:2/"])
        #expect(settings.listenAddress("listenAddress", default: .init(port: 1)) == .init(host: "::1", port: 80))
        #expect(settings.string("databaseUrl") == "postgres://x")
        #expect(settings.optionalString("empty") == nil)
        #expect(settings.string("missing", default: "d") == "d")
        #expect(settings.rateLimitsEnabled)
        #expect(problems(settings).isEmpty)
    }

    @Test func readingDeclares() throws {
        let settings = settings([:])
        _ = settings.int("sessionLimit", default: 100, in: 1...10_000, "sessions of one user")
        _ = settings.seconds("retryWindow", in: 1...60, "a window")
        _ = settings.choice("rotationMode", default: Mode.resilient, "how")
        _ = settings.secrets("gatewayCredentials", "credentials")
        _ = settings.int("threads", default: 7, computedAs: "cores − 1", "threads")
        _ = settings.number("percent", default: 0.5, in: 0...100, unit: "percent", "share")
        _ = settings.optionalURL("hookURL")
        let own = settings.declarations.filter { $0.name.variable.hasPrefix("TOKENS_") }
        #expect(
            own == [
                SettingDeclaration(name("configFile"), .path, "file of settings"),
                SettingDeclaration(
                    name("sessionLimit"), .integer, "sessions of one user", default: "100", range: 1...10_000),
                SettingDeclaration(
                    name("retryWindow"), .integer, "a window", isRequired: true, unit: "seconds", range: 1...60),
                SettingDeclaration(
                    name("rotationMode"), .choice, "how", default: "resilient", choices: ["strict", "resilient"]),
                SettingDeclaration(
                    name("gatewayCredentials"), .list, "credentials", isRequired: true, isSecret: true),
                SettingDeclaration(
                    name("threads"), .integer, "threads", default: "cores − 1", range: 0...Int.max),
                SettingDeclaration(
                    name("percent"), .number, "share", default: "0.5", unit: "percent", range: 0...100),
                SettingDeclaration(name("hookURL"), .url, ""),
            ])
        #expect(settings.declarations.contains { $0.name.variable == "GATEHOUSE_ENVIRONMENT" && !$0.meaning.isEmpty })
    }

    /// Two that differ are kept, so that `describe` shows the defect.
    @Test func aSettingThatIsReadTwiceIsDeclaredOnce() {
        let settings = settings([:])
        for meaning in ["a path", "a path", "another path"] { _ = settings.optionalPath("keyFile", meaning) }
        let declared = settings.declarations.filter { $0.name == name("keyFile") }
        #expect(declared.map(\.meaning) == ["a path", "another path"])
    }

    @Test func aDeclarationIsWrittenAsJSON() throws {
        let setting = SettingDeclaration(
            name("sessionLimit"), .integer, "sessions", default: "100", unit: "sessions", range: 1...Int.max)
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(
            String(decoding: try encoder.encode(setting), as: UTF8.self) == """
                {"default":"100","key":"tokens.sessionLimit","kind":"integer","meaning":"sessions","minimum":1,\
                "name":"TOKENS_SESSION_LIMIT","required":false,"secret":false,"unit":"sessions"}
                """)
    }

    private func name(_ key: String) -> SettingName { SettingName(service: "tokens", key: key) }

    @Test(arguments: [
        "http://a:0", "http://a:65536", "https://127.0.0.1:99999", "http://a:-1", "http://a:99999999999999999999",
    ])
    func refusesPortsThatThereAreNot(_ address: String) {
        let one = settings(["GATEHOUSE_ENVIRONMENT": "development", "TOKENS_PEER_URL": address])
        _ = one.url("peerURL")
        #expect(problems(one).count == 1)
        let several = settings(["GATEHOUSE_ENVIRONMENT": "development", "TOKENS_PEER_URL": "http://a:65535,\(address)"])
        _ = several.urls("peerURL")
        #expect(problems(several).count == 1)
    }

    @Test func tellsEveryErrorAtOnceAndByName() {
        let settings = settings([
            "GATEHOUSE_ENVIRONMENT": "staging", "TOKENS_LIMIT": "many", "TOKENS_WINDOW": "-1", "TOKENS_MODE": "lax",
            "TOKENS_ADDRESS": "8080", "TOKENS_PEER": "ftp://x", "TOKENS_ON": "yes", "TOKENS_KEY": "/does/not/exist",
        ])
        _ = settings.string("issuer")
        _ = settings.int("limit", in: 0...10)
        _ = settings.seconds("window")
        _ = settings.choice("mode", default: Mode.strict)
        _ = settings.listenAddress("address", default: .init(port: 1))
        _ = settings.url("peer")
        _ = settings.bool("on", default: false)
        _ = settings.file("key")
        settings.problem("issuer", "is odd")
        let all = problems(settings)
        #expect(all.count == 10)
        #expect(all.contains("TOKENS_ISSUER (tokens.issuer in the file) is not set"))
        #expect(all.contains { $0.contains("GATEHOUSE_ENVIRONMENT") && $0.contains("production, development") })
        #expect(all.contains { $0.contains("TOKENS_LIMIT") && $0.contains("'many'") })
        #expect(all.contains { $0.contains("TOKENS_KEY") && $0.contains("cannot be read") })
    }

    @Test func neverPrintsASecret() {
        let settings = settings(["TOKENS_CREDENTIALS": "dev-hush,dev-hush-2", "TOKENS_KEY": "dev-hush"])
        _ = settings.secrets("credentials")
        _ = settings.secret("key")
        let all = problems(settings)
        #expect(all.count == 2)
        #expect(!all.joined().contains("hush"))
    }

    @Test func isInProductionUnlessToldOtherwise() {
        let settings = settings([
            "GATEHOUSE_RATE_LIMITS": "off", "TOKENS_SECRET": "dev-x", "TOKENS_DATABASE_URL": "postgres://u:dev-x@h/d",
        ])
        _ = settings.secret("secret")
        _ = settings.string("databaseURL", secret: true)
        #expect(settings.environment == .production)
        #expect(!settings.rateLimitsEnabled)
        let all = problems(settings)
        #expect(all.count == 3)
        #expect(all.contains { $0.contains("GATEHOUSE_RATE_LIMITS") && $0.contains("production") })
    }

    @Test func developmentTakesDevelopmentSecrets() throws {
        try withFile("# development\nkey", "key.pem") { path in
            let names = ["TOKENS_SECRET": "dev-x", "TOKENS_KEY_FILE": path]
            let lenient = settings(names.merging(development) { $1 })
            #expect(lenient.secret("secret") == "dev-x")
            #expect(lenient.file("keyFile").hasSuffix("key"))
            #expect(problems(lenient).isEmpty)
            let strict = settings(names)
            _ = strict.secret("secret")
            _ = strict.file("keyFile")
            #expect(problems(strict).count == 2)
        }
    }

    @Test(arguments: ["yaml", "json"])
    func readsAFileBeneathTheEnvironment(_ kind: String) throws {
        let text =
            kind == "yaml"
            ? """
            gatehouse:
              environment: development
            tokens:
              issuer: file
              limit: 5
              ids: [a, b]
              none: null
            identity:
              any: 1
            """
            : """
            {"gatehouse":{"environment":"development"},
             "tokens":{"issuer":"file","limit":5,"ids":["a","b"],"none":null},"identity":{"any":1}}
            """
        try withFile(text, "c.\(kind)") { path in
            let settings = settings(["TOKENS_CONFIG_FILE": path, "TOKENS_ISSUER": "environment"])
            #expect(settings.environment == .development)
            #expect(settings.string("issuer") == "environment")
            #expect(settings.int("limit") == 5)
            #expect(settings.strings("ids") == ["a", "b"])
            #expect(settings.optionalString("none") == nil)
            #expect(problems(settings).isEmpty)
        }
    }

    @Test func refusesUnknownNamesWithTheNearestKnown() throws {
        try withFile("tokens:\n  isuer: x\nother: 1\n", "c.yaml") { path in
            let settings = settings([
                "TOKENS_CONFIG_FILE": path, "TOKENS_RETRY_WINDOWS": "1", "TOKENS_XYZ": "1", "GATEHOUSE_ENVIROMENT": "x",
                "IDENTITY_ANYTHING": "1", "PATH": "/bin",
            ])
            _ = settings.seconds("retryWindow", default: 60)
            _ = settings.string("issuer", default: "x")
            let all = problems(settings)
            #expect(
                all == [
                    "GATEHOUSE_ENVIROMENT is not a setting; did you mean GATEHOUSE_ENVIRONMENT?",
                    "TOKENS_RETRY_WINDOWS is not a setting; did you mean TOKENS_RETRY_WINDOW?",
                    "TOKENS_XYZ is not a setting",
                    "other in the file is not a setting",
                    "tokens.isuer in the file is not a setting; did you mean tokens.issuer?",
                ])
        }
    }

    @Test func toleratesWhatEnvironmentsCarry() {
        let settings = settings([
            "TOKENS_URL": "x", "TOKENS_ADMIN_URL": "x", "TOKENS_PID": "1", "GATEHOUSE_PORT_BASE": "1",
            "GATEHOUSE_TEST_ANYTHING": "1", "TOKENS_SERVICE_HOST": "x", "TOKENS_SERVICE_PORT": "1",
            "TOKENS_SERVICE_PORT_HTTP": "1", "TOKENS_PORT": "tcp://x", "TOKENS_PORT_80_TCP_ADDR": "x",
            "GATEHOUSE_ENVIRONMENT": "development",
        ])
        #expect(problems(settings).isEmpty)
    }

    @Test(arguments: ["a: [1", "- 1\n- 2", "tokens: {issuer: 1, issuer: 2}", "just text"])
    func refusesFilesThatCannotBeUsed(_ text: String) throws {
        try withFile(text, "c.yaml") { path in
            let settings = settings(development.merging(["TOKENS_CONFIG_FILE": path]) { $1 })
            _ = settings.string("issuer", default: "x")
            #expect(problems(settings).contains { $0.contains("TOKENS_CONFIG_FILE") })
        }
    }

    @Test func refusesAnEmptyFileWhereOneHasToBe() throws {
        try withFile("", "key.pem") { path in
            let settings = settings(["TOKENS_KEY_FILE": path].merging(development) { $1 })
            #expect(settings.optionalFile("keyFile") == "")
            #expect(settings.read("keyFile", from: settings.file("keyFile")) { $0 } == nil)
            #expect(problems(settings).count == 1)
        }
    }

    /// A value that cannot be made from a setting's text is told as any other mistake; a missing one only once.
    @Test func tellsWhatCannotBeMade() {
        struct Wrong: Error, CustomStringConvertible { let description = "is wrong" }
        let settings = settings(["TOKENS_LIMIT": "3"].merging(development) { $1 })
        #expect(settings.read("limit", from: settings.string("limit")) { Int($0) ?? 0 } == 3)
        #expect(settings.read("limit", from: "4") { _ throws -> Int in throw Wrong() } == nil)
        #expect(settings.read("missing", from: settings.string("missing")) { $0 } == nil)
        let all = problems(settings)
        #expect(all.count == 2 && all.contains { $0.hasSuffix("is wrong") })
    }

    @Test func refusesASecretsFileThatIsOpenToEverybody() throws {
        try withFile("s3cret", "key") { path in
            for (mode, isOpen) in [(0o600, false), (0o640, false), (0o604, true), (0o602, true), (0o644, true)] {
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
                let settings = settings(development.merging(["TOKENS_KEY_FILE": path]) { $1 })
                #expect(settings.secretFile("keyFile") == "s3cret")
                #expect(problems(settings).contains { $0.contains("open to everybody") } == isOpen)
                let again = self.settings(development.merging(["TOKENS_KEY_FILE": path]) { $1 })
                #expect(again.optionalSecretFile("keyFile") == "s3cret")
                #expect(problems(again).contains { $0.contains("open to everybody") } == isOpen)
            }
        }
    }

    @Test func aSecretsFileMayBeMissingWhereItIsOptional() {
        let settings = settings(development)
        #expect(settings.optionalSecretFile("keyFile") == nil)
        #expect(problems(settings).isEmpty)
    }

    @Test func refusesAFileThatIsMissing() {
        let settings = settings(development.merging(["TOKENS_CONFIG_FILE": "/does/not/exist"]) { $1 })
        #expect(problems(settings).count == 1)
    }

    @Test func knowsCompoundNames() {
        let name = SettingName(service: "apple-simulator", key: "apnsListenAddress")
        #expect(name.variable == "APPLE_SIMULATOR_APNS_LISTEN_ADDRESS")
        #expect(name.path == "appleSimulator.apnsListenAddress")
    }

    @Test func measuresDistance() {
        #expect(editDistance("", "abc") == 3)
        #expect(editDistance("kitten", "sitting") == 3)
        #expect(editDistance("same", "same") == 0)
    }

    @Test(arguments: ["8080", ":8080", "a:b", "a:70000", "::1:80", "[]:80", "127.0.0.1:"])
    func refusesListenAddresses(_ text: String) {
        #expect(ListenAddress(text) == nil)
    }
}
