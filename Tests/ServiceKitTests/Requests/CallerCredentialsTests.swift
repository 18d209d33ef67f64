import GatehouseServiceKit
import GatehouseSettings
import Testing

@Suite struct CallerCredentialsTests {
    private func problems(_ environment: [String: String], ofCallers read: (Settings) -> Void) -> [String] {
        let settings = Settings(service: "tokens", environment: environment)
        read(settings)
        do {
            try settings.finish()
            return []
        } catch {
            return error.problems.map { "\($0.name) \($0.message)" }
        }
    }

    @Test func neverPrintsASecret() {
        let all = problems(["TOKENS_GATEWAY_CREDENTIALS": "dev-hush,dev-hush-2,dev-hush-3"]) {
            _ = $0.credentials(ofCallers: "gateway")
        }
        #expect(all.count == 2, "too many of them, made for development")
        #expect(!all.joined().contains("hush"))
    }

    @Test func refusesCredentialsThatTwoCallersShare() {
        let all = problems([
            "GATEHOUSE_ENVIRONMENT": "development", "TOKENS_A_CREDENTIALS": "dev-12345,dev-67890",
            "TOKENS_B_CREDENTIALS": "dev-67890",
        ]) {
            _ = $0.credentials(ofCallers: "a", "b")
        }
        #expect(all.count == 1)
    }
}
