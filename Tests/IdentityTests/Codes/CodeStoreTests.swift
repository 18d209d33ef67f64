import Foundation
import GatehouseServiceContracts
import Postgres
import Sealing
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityCredentials
@testable import IdentityService

/// What PostgreSQL decides about codes.
@Suite struct CodeStoreTests {
    private static let ada = Identifier.email(try! EmailAddress("ada@example.com"))
    private static let bob = Identifier.email(try! EmailAddress("bob@example.com"))

    private struct Situation: Sendable {
        let database: PostgresPool
        let codes: CodeStore
        /// Asks for a code as if from another network each time, so that no caller has to wait.
        func send(
            to identifier: Identifier = ada, for purpose: CodePurpose = .signIn,
            from address: String = UUID().uuidString
        ) async throws -> CodeStore.New {
            let new = CodeStore.New(identifier: identifier, purpose: purpose)
            let asking = try await codes.ask(new, from: address) { _ in }
            guard case .kept(resendAfter: 30) = asking else { throw TestKitError("it is too soon") }
            return new
        }

        func present(
            _ code: OneTimeCode, of identifier: Identifier = ada, request: UUID? = nil,
            for purposes: [CodePurpose] = [.signIn]
        ) async throws -> CodeStore.Match? {
            let open = try await codes.open(identifier, request: request, from: "203.0.113.1", for: purposes)
            return try await codes.verify(identifier, by: code, for: purposes, among: open)
        }

        func open(
            _ link: String, _ request: UUID, for purposes: [CodePurpose] = [.signIn]
        ) async throws -> CodeStore.Match? {
            guard let request = try await codes.request(request) else { return nil }
            return try await codes.verify(link: link, of: request, for: purposes)
        }

        /// As if no message may be sent.
        func repeatLast(
            of identifier: Identifier = ada, for purpose: CodePurpose = .signIn, byLink: Bool = true
        ) async throws -> UUID? {
            try await codes.repeatLast(CodeStore.New(identifier: identifier, purpose: purpose), byLink: byLink)?.request
        }

        func wrong(_ right: CodeStore.New) -> OneTimeCode {
            while true {
                let code = OneTimeCode()
                if code != right.code { return code }
            }
        }
    }

    private func withCodes(_ body: @Sendable (Situation) async throws -> Void) async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let codes = CodeStore(
                database: database.pool, keys: CodeKeys(.sample),
                sealer: Sealer(keys: .sample, purpose: CodeStore.sealingPurpose))
            try await body(Situation(database: database.pool, codes: codes))
        }
    }

    @Test func aCodeServesOnce() async throws {
        try await withCodes { situation in
            let sent = try await situation.send()
            #expect(try await situation.present(sent.code)?.id == sent.id)
            #expect(try await situation.present(sent.code) == nil)
            #expect(try await situation.present(sent.code, request: sent.id) == nil)
        }
    }

    @Test func ofManyAtOnceOneWins() async throws {
        try await withCodes { situation in
            for _ in 0..<10 {
                let sent = try await situation.send()
                let accepted = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for number in 0..<5 {
                        group.addTask {
                            try await situation.present(sent.code, request: number % 2 == 0 ? sent.id : nil) != nil
                        }
                    }
                    return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
                #expect(accepted == 1)
            }
        }
    }

    @Test func theSixthTryNeverCounts() async throws {
        try await withCodes { situation in
            let sent = try await situation.send()
            let wrong = situation.wrong(sent)
            for _ in 0..<CodeRules.tries {
                #expect(try await situation.present(wrong, request: sent.id) == nil)
            }
            #expect(try await situation.present(sent.code, request: sent.id) == nil)
        }
    }

    /// Twenty guesses at the same moment, half of them with the request that asked: two of these and three others are
    /// compared.
    @Test func noRaceGivesASixthTry() async throws {
        try await withCodes { situation in
            let sent = try await situation.send()
            let wrong = situation.wrong(sent)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        _ = try await situation.present(wrong, request: number % 2 == 0 ? sent.id : nil)
                    }
                }
                try await group.waitForAll()
            }
            let tries = try await situation.database.query("SELECT tries FROM codes")[0].decode(Int.self)
            #expect(tries == CodeRules.tries)
            #expect(try await situation.present(sent.code, request: sent.id) == nil)
        }
    }

    @Test func whoKnowsTheIdentifierAloneLeavesTriesToTheDeviceThatAsked() async throws {
        try await withCodes { situation in
            let sent = try await situation.send()
            let wrong = situation.wrong(sent)
            for _ in 0..<10 { #expect(try await situation.present(wrong) == nil) }
            #expect(try await situation.present(sent.code) == nil)
            #expect(try await situation.present(wrong, request: sent.id) == nil)
            #expect(try await situation.present(sent.code, request: sent.id)?.id == sent.id)
        }
    }

    /// A code typed in later may be the one of the first message.
    @Test func everyOpenCodeIsComparedAndCounted() async throws {
        try await withCodes { situation in
            let (first, second) = (try await situation.send(), try await situation.send())
            guard first.code != second.code else { return }
            #expect(try await situation.present(first.code)?.id == first.id)
            #expect(try await situation.present(second.code, request: second.id)?.id == second.id)
            let tries = try await situation.database.query("SELECT tries FROM codes").decode(Int.self)
            #expect(tries.sorted() == [1, 2])
        }
    }

    /// Where the allowance has room for a few codes, these are not the newest, which any caller can ask for.
    @Test func codesOfTheCallersNetworkComeFirst() async throws {
        try await withCodes { situation in
            let own = try await situation.send(from: "198.51.100.7")
            let others = [try await situation.send(), try await situation.send()]
            func open(from address: String) async throws -> [UUID] {
                try await situation.codes.open(Self.ada, request: nil, from: address, for: [.signIn]).map(\.id)
            }
            #expect(try await open(from: "198.51.100.7") == [own.id, others[1].id, others[0].id])
            #expect(try await open(from: "198.51.100.8") == [others[1].id, others[0].id, own.id])
        }
    }

    @Test func aCodeIsBoundToWhatItWasSentFor() async throws {
        try await withCodes { situation in
            let sent = try await situation.send(for: .verify)
            #expect(try await situation.present(sent.code, for: [.signIn]) == nil)
            #expect(try await situation.present(sent.code, of: Self.bob, for: [.signIn, .verify]) == nil)
            #expect(try await situation.present(sent.code, request: UUID(), for: [.verify]) == nil)
            // A code that was asked for otherwise is not tried.
            #expect(try await situation.database.query("SELECT tries FROM codes")[0].decode(Int.self) == 0)
            #expect(try await situation.present(sent.code, for: [.signIn, .verify])?.purpose == .verify)
        }
    }

    @Test func aLinkWorksWithItsRequestAlone() async throws {
        try await withCodes { situation in
            let (sent, other) = (try await situation.send(), try await situation.send())
            #expect(try await situation.open(sent.link.text, other.id) == nil)
            #expect(try await situation.open("ghlt_x", sent.id) == nil)
            #expect(try await situation.open(sent.link.text, sent.id)?.id == sent.id)
            #expect(try await situation.open(sent.link.text, sent.id) == nil)
        }
    }

    /// The request of an answer without a message accepts the link of any code for the same, also after all tries of
    /// its digits, and no other.
    @Test func aRepeatedRequestAcceptsTheLinkOfAnyOpenCode() async throws {
        try await withCodes { situation in
            #expect(try await situation.repeatLast() == nil, "there is no code")
            let (first, second) = (try await situation.send(), try await situation.send())
            let (verify, bobs) = (try await situation.send(for: .verify), try await situation.send(to: Self.bob))
            let request = try #require(try await situation.repeatLast())
            #expect(try await situation.repeatLast() == request, "one row for the same, however often it is asked for")
            for _ in 0..<5 { #expect(try await situation.present(situation.wrong(first)) == nil) }
            #expect(try await situation.present(first.code, request: request) == nil, "it has no tries")
            #expect(try await situation.repeatLast(byLink: false) == nil, "no try is left")
            for link in ["ghlt_x", verify.link.text, bobs.link.text] {
                #expect(try await situation.open(link, request, for: [.signIn, .verify]) == nil)
            }
            #expect(try await situation.open(first.link.text, request, for: [.verify]) == nil)
            #expect(try await situation.open(first.link.text, request)?.id == first.id)
            #expect(try await situation.open(first.link.text, request) == nil, "it serves once")
            #expect(try await situation.open(second.link.text, request)?.id == second.id)
            #expect(try await situation.repeatLast() == nil)
            try await situation.database.query("UPDATE code_repeats SET expires_at = now()")
            #expect(try await situation.codes.request(request) == nil)
        }
    }

    @Test func whatHasExpiredIsNotCompared() async throws {
        try await withCodes { situation in
            let sent = try await situation.send()
            try await situation.database.query("UPDATE codes SET expires_at = now()")
            #expect(try await situation.present(sent.code, request: sent.id) == nil)
            #expect(try await situation.codes.request(sent.id) == nil)
        }
    }

    @Test func whatCameToNothingServesAgain() async throws {
        try await withCodes { situation in
            let sent = try await situation.send()
            let verified = try #require(try await situation.present(sent.code))
            try await situation.codes.release(verified)
            #expect(try await situation.present(sent.code)?.id == sent.id)
        }
    }

    @Test func verifyingEndsTheOthers() async throws {
        try await withCodes { situation in
            let (one, other) = (try await situation.send(), try await situation.send())
            let verify = try await situation.send(for: .verify)
            #expect(try await situation.present(one.code, request: one.id) != nil)
            try await situation.codes.close(Self.ada, for: .signIn)
            #expect(try await situation.present(other.code, request: other.id) == nil)
            #expect(try await situation.present(verify.code, request: verify.id, for: [.verify]) != nil)
        }
    }

    @Test func askingAgainIsSlowedDownForTheSameNetworkAlone() async throws {
        try await withCodes { situation in
            func ask(from address: String, for purpose: CodePurpose = .signIn) async throws -> Int {
                let new = CodeStore.New(identifier: Self.ada, purpose: purpose)
                switch try await situation.codes.ask(new, from: address, send: { _ in }) {
                case .kept(let resendAfter): return resendAfter
                case .wait(let seconds, _): return -seconds
                }
            }
            #expect(try await ask(from: "203.0.113.1") == 30)
            #expect((-30 ... -25).contains(try await ask(from: "203.0.113.1")))
            #expect(try await ask(from: "203.0.113.2") == 30)
            #expect(try await ask(from: "203.0.113.1", for: .verify) == 30)
            try await situation.database.query("UPDATE codes SET created_at = now() - interval '31 seconds'")
            #expect(try await ask(from: "203.0.113.1") == 60)
            try await situation.database.query("UPDATE codes SET created_at = now() - interval '61 minutes'")
            #expect(try await ask(from: "203.0.113.1") == 30)
        }
    }

    /// A double tap sends one message.
    @Test func ofTwoThatAskAtOnceOneIsSent() async throws {
        try await withCodes { situation in
            let kept = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        let new = CodeStore.New(identifier: Self.ada, purpose: .signIn)
                        let asking = try await situation.codes.ask(new, from: "203.0.113.1") { _ in }
                        if case .kept = asking { return true }
                        return false
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(kept == 1)
        }
    }

    @Test func theTableNamesNobody() async throws {
        try await withCodes { situation in
            let sent = try await situation.send()
            let row = try await situation.database.query(
                "SELECT codes::text || encode(sealed, 'escape') FROM codes")[0].decode(String.self)
            for secret in ["ada@", "example.com", sent.code.digits, sent.link.text] {
                #expect(!row.contains(secret), "\(secret)")
            }
            #expect(try await situation.codes.request(sent.id)?.identifier == Self.ada)
        }
    }
}
