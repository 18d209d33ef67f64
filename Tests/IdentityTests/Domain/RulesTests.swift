import AccessToken
import Contracts
import Foundation
import Testing

@testable import IdentityService

@Suite struct IdentifierClaimTests {
    private let claimant = UUID()
    private let other = UUID()

    @Test func everyCase() {
        for proves in [false, true] {
            #expect(IdentifierClaim.decide(holder: nil, claimant: claimant, proves: proves) == .free)
            for isVerified in [false, true] {
                let own = IdentifierClaim.Holder(userID: claimant, isVerified: isVerified)
                #expect(IdentifierClaim.decide(holder: own, claimant: claimant, proves: proves) == .own)
                let foreign = IdentifierClaim.Holder(userID: other, isVerified: isVerified)
                let expected: IdentifierClaim = proves && !isVerified ? .takeOver(from: other) : .refused
                #expect(IdentifierClaim.decide(holder: foreign, claimant: claimant, proves: proves) == expected)
            }
        }
    }
}

@Suite struct SignInOutcomeTests {
    @Test func everyCase() {
        func outcome(_ state: AccountState, _ credentialsVersion: Int64) -> SignInOutcome {
            .judge(
                provedAt: 3, now: AccountStanding(state: state, version: 9, credentialsVersion: credentialsVersion))
        }
        #expect(SignInOutcome.judge(provedAt: 3, now: nil) == .gone)
        #expect(outcome(.disabled, 3) == .disabled)
        #expect(outcome(.disabled, 4) == .disabled)
        #expect(outcome(.active, 4) == .moved)
        #expect(outcome(.active, 3) == .stands)
    }
}

@Suite struct DeletionStepTests {
    @Test func followEachOtherAndForgetTheUserLast() {
        var steps: [DeletionStep] = [.revokeSessions]
        while let next = steps.last?.next { steps.append(next) }
        #expect(steps == [.revokeSessions, .eraseDevices, .sweepSessions, .revokeAtApple])
        #expect(steps.map(\.needsUser) == [true, true, true, false])
    }
}

@Suite struct OutboxScheduleTests {
    @Test func waitsLongerEachTimeButNotForever() {
        #expect(OutboxSchedule.delay(after: 1, spread: 0.5) == 0.5)
        #expect(OutboxSchedule.delay(after: 2, spread: 0.5) == 1)
        #expect(OutboxSchedule.delay(after: 1000, spread: 1) == 375)
        #expect(OutboxSchedule.delay(after: 0, spread: 0) == 0.375)
    }

    @Test func tasksSurviveTheirJourneyThroughJSON() throws {
        let tasks: [OutboxTask] = [
            .snapshot, .revokeSessions(reason: .accountDisabled, except: UUID(), below: 2),
            .revokeSessions(reason: .passwordChanged, except: nil, below: 7), .takeBack(session: UUID()),
            .exchangeCode(subject: "001"),
            .passwordReset,
            .deletion(.sweepSessions),
        ]
        for task in tasks {
            #expect(try JSONDecoder().decode(OutboxTask.self, from: JSONEncoder().encode(task)) == task)
        }
    }
}

@Suite struct DisplayNameTests {
    @Test func keepsWhatPeopleAreCalled() throws {
        for name in ["Ada", "Ada Lovelace", "José Álvarez", "李小龍", "محمد", "Zoë 👩🏽‍🚀", "O’Brien-Smith", "می‌خواهم"] {
            #expect(try DisplayName.read("  \(name) ")?.value == name.precomposedStringWithCanonicalMapping)
        }
        #expect(try DisplayName.read(String(repeating: "é", count: 100)) != nil)
    }

    @Test func blankTakesTheNameAway() throws {
        for blank in ["", " ", "\n\t"] { #expect(try DisplayName.read(blank) == nil) }
    }

    @Test(
        arguments: [
            "Ada\u{202E}ecalevoL", "Ada\nLovelace", "Ada\u{0}", "Ada\u{7}", "A\u{200B}da", "\u{2066}Ada\u{2069}",
            "\u{200D}", "\u{3164}", "Ada\u{FEFF}", "Ada\u{E000}",
        ])
    func refusesWhatDeceives(name: String) {
        #expect(throws: Refusal.self) { try DisplayName.read(name) }
    }

    @Test func refusesWhatIsTooLong() {
        #expect(throws: Refusal.self) { try DisplayName.read(String(repeating: "a", count: 101)) }
        #expect(throws: Refusal.self) { try DisplayName.read("a" + String(repeating: "\u{301}", count: 2000)) }
    }

    @Test func takesApplesNameAsFarAsItGoes() {
        #expect(DisplayName.fromApple(givenName: "Ada", familyName: "Lovelace")?.value == "Ada Lovelace")
        #expect(DisplayName.fromApple(givenName: " ", familyName: "Lovelace")?.value == "Lovelace")
        #expect(DisplayName.fromApple(givenName: "A\u{202E}da\n", familyName: nil)?.value == "Ada")
        #expect(DisplayName.fromApple(givenName: nil, familyName: nil) == nil)
        let long = DisplayName.fromApple(givenName: String(repeating: "a", count: 5000), familyName: nil)
        #expect(long?.value.count == 100)
    }
}

@Suite struct RoleTests {
    @Test func followsTheSpellingOfTokens() throws {
        #expect(try Role("courier").name == "courier")
        #expect(try Role("store_manager-2").name == "store_manager-2")
        #expect(Role.user.name == "user")
        for name in ["", "Courier", "1st", "a b", "a,b", "ä", String(repeating: "a", count: 33), "a\n"] {
            #expect(throws: Refusal.self) { try Role(name) }
        }
    }

    @Test func storesAreVisible() throws {
        #expect(try StoreID("Köln,3%").value == "Köln,3%")
        for store in ["", "a b", "a\u{200B}", "a\n", String(repeating: "a", count: 65)] {
            #expect(throws: Refusal.self) { try StoreID(store) }
        }
    }
}

@Suite struct StoreListTests {
    private static let longest =
        [String(repeating: "a", count: 64)] + Array(repeating: String(repeating: "a", count: 60), count: 49)

    @Test func hasRoomForWhatFitsIntoATokenAndAHeader() throws {
        // 64 + 49 names of 60, and 49 commas: 3053.
        #expect(try StoreList(Self.longest).ids.map(\.value) == Self.longest)
        #expect(try StoreList([]) == .none)
        #expect(throws: Refusal.self) { try StoreList(Array(repeating: "a", count: 51)) }
        #expect(throws: Refusal.self) { try StoreList(["a", "b c"]) }
    }

    /// Each alone would do; together they made tokens that nobody could sign.
    @Test func refusesWhatNoTokenHasRoomFor() {
        let store = String(repeating: "ä", count: 64)
        #expect(throws: Refusal.self) { try StoreList(Array(repeating: store, count: 50)) }
        let emoji = String(repeating: "👩🏽", count: 16)
        #expect(throws: Refusal.self) { try StoreList(Array(repeating: emoji, count: 50)) }
    }

    @Test func theFullestListMakesATokenThatCanBeSigned() throws {
        let signer = try AccessTokenSigner(key: RSAPrivateKey(pem: TestKeys.first))
        for stores in [Self.longest, Array(repeating: String(repeating: "a\u{22}", count: 7) + "aaa", count: 50)] {
            let list = try StoreList(stores)
            let token = try signer.sign(
                AccessTokenClaims(
                    issuer: "https://" + String(repeating: "i", count: 247),
                    audience: String(repeating: "a", count: 255),
                    subject: UUID(), sessionID: UUID(), issuedAt: 1_800_000_000, expiresAt: 1_800_003_600,
                    clientID: String(repeating: "c", count: 255), role: String(repeating: "r", count: 32),
                    storeIDs: list.ids.map(\.value), email: String(repeating: "e", count: 254)))
            #expect(token.utf8.count <= AccessTokenVerifier.maximumLength)
        }
    }
}

@Suite struct SessionDeviceTests {
    @Test func namesTheFieldThatIsWrong() throws {
        #expect(try SessionDevice(name: "Ada's iPhone", model: "iPhone17,1").checked().name == "Ada's iPhone")
        #expect(throws: Problem.self) { try SessionDevice(name: "a\u{202E}b").checked() }
        #expect {
            try SessionDevice(osVersion: String(repeating: "1", count: 201)).checked()
        } throws: { error in
            (error as? Problem)?.errors.first?.field == "device.osVersion"
        }
    }
}
