import GatehouseServiceContracts
import Testing

@Suite struct RequestIDTests {
    @Test(arguments: ["a", "Z", "0", "-", "_", "abc-DEF_123", String(repeating: "x", count: 64)])
    func keeps(_ text: String) {
        #expect(RequestID.isValid(text.utf8))
    }

    @Test(arguments: ["", " ", "a b", "a.b", "a\n", "é", "a\0", "a,b", String(repeating: "x", count: 65)])
    func replaces(_ text: String) {
        #expect(!RequestID.isValid(text.utf8))
    }

    @Test func makesValidOnes() {
        let made = (0..<100).map { _ in RequestID.make() }
        #expect(made.allSatisfy { RequestID.isValid($0.utf8) })
        #expect(Set(made).count == 100)
    }
}
