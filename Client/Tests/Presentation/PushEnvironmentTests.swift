import Testing

@testable import GatehouseClient

@Suite("Where a build's device tokens are from")
struct PushEnvironmentTests {
    @Test("As the entitlement says, and nothing is guessed")
    func entitlements() {
        #expect(PushEnvironment(entitlement: "development") == .sandbox)
        #expect(PushEnvironment(entitlement: "production") == .production)
        for other in [nil, "", "sandbox", "Production", "$(APS_ENVIRONMENT)"] as [String?] {
            #expect(PushEnvironment(entitlement: other) == nil)
        }
    }
}
