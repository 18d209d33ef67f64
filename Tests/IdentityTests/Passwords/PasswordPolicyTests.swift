import GatehouseServiceContracts
import Testing

@testable import IdentityCore
@testable import IdentityCredentials

@Suite struct PasswordPolicyTests {
    private let policy = PasswordPolicy()

    private func weakness(_ text: String, for identifier: String = "ada@example.com") throws -> String? {
        policy.weakness(of: try Password(text), for: [identifier])
    }

    @Test func lengthCountsAndCompositionDoesNot() throws {
        #expect(try weakness("short7!") != nil)
        #expect(try weakness("tulpenzwiebel") == nil)
        #expect(try weakness("kaffee und kuchen") == nil)
        #expect(try weakness("пароль-с-кухни") == nil)
        #expect(try weakness("🚀🐘🌋🎻🧊🪀🥝🛶") == nil)
        #expect(try weakness(String(repeating: "ab3", count: 85)) == nil)
        #expect(PasswordPolicy(minimumLength: 15).weakness(of: try Password("tulpenzwiebel"), for: []) != nil)
    }

    @Test(
        arguments: [
            "password", "PASSWORD", "Password123", "12345678", "87654321", "abcdefgh", "aaaaaaaa", "abababab",
            "qwertyuiop", "iloveyou", "myspace1", "homelesspa", "P@ssw0rd", "ｐａｓｓｗｏｒｄ", "ada@example.com",
            "ADA@EXAMPLE.COM",
        ])
    func refusesWhatIsTriedFirst(text: String) throws {
        #expect(try weakness(text) != nil)
    }

    @Test func refusesTheLocalPartAndTheNumber() throws {
        #expect(try weakness("adalovelace", for: "adalovelace@example.com") != nil)
        #expect(try weakness("+491711234567", for: "+491711234567") != nil)
    }

    @Test func theAnswerNamesTheField() async throws {
        let screening = PasswordScreening(policy: policy, breached: nil)
        try await screening.check(try Password("tulpenzwiebel"), for: [], field: "newPassword")
        await #expect {
            try await screening.check(try Password("short"), for: [], field: "newPassword")
        } throws: { error in
            let problem = error as? Problem
            return problem?.code == .weakPassword && problem?.errors.map(\.field) == ["newPassword"]
        }
    }

    @Test func nothingIsCutOff() throws {
        #expect(try Password(String(repeating: "x", count: 256)).text.count == 256)
        #expect(throws: Refusal.self) { try Password(String(repeating: "x", count: 257)) }
        #expect(throws: Refusal.self) { try Password("") }
        // One scalar that NFKC makes eighteen of.
        #expect(throws: Refusal.self) { try Password(String(repeating: "\u{FDFA}", count: 20)) }
    }

    @Test func doesNotShowItself() throws {
        let password = try Password("tulpenzwiebel")
        #expect(!"\(password)".contains("tulpen"))
        #expect(!String(reflecting: password).contains("tulpen"))
        var dumped = ""
        dump(password, to: &dumped)
        #expect(!dumped.contains("tulpen"))
    }
}
