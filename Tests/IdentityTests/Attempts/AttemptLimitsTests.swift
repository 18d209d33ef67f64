import Crypto
import Foundation
import GatehouseServiceContracts
import Sealing
import Testing

@testable import IdentityCore

/// A day in simulated time: a stranger tries passwords, and the user whose they are signs in.
@Suite struct AttemptLimitsTests {
    private static let day = 86_400.0
    private static let ada = Identifier.phone(try! PhoneNumber("+491711234567"))
    private static let iPhone = SimulatedDevices.known

    /// The limits of one replica, and a user who has signed in on the iPhone.
    private struct Situation {
        let counter = SimulatedAttemptCounter()
        let limits: AttemptLimits

        init() {
            limits = AttemptLimits(
                counter: counter, knownDevices: SimulatedDevices(), keys: .sample)
        }

        /// - Returns: whether the password was compared.
        func signIn(from address: String, on device: SessionDevice? = nil, isRight: Bool) async throws -> Bool {
            try await limits.admits(ada, from: address, on: device, isRight: isRight)
        }
    }

    private func withSituation(_ body: (Situation) async throws -> Void) async throws {
        try await body(Situation())
    }

    @Test func aStrangersDayKeepsNobodyOut() async throws {
        try await withSituation { situation in
            var (guesses, refusals) = (0, 0)
            for second in stride(from: 0, to: Self.day, by: 5) {
                if try await situation.signIn(from: "203.0.113.1", isRight: false) { guesses += 1 }
                if second.truncatingRemainder(dividingBy: 900) == 0 {
                    // From elsewhere, on a device that is new; and from the stranger's own address on one that is not.
                    for (address, device) in [("203.0.113.2", nil), ("203.0.113.1", Self.iPhone)] {
                        let isIn = try await situation.signIn(from: address, on: device, isRight: true)
                        refusals += isIn ? 0 : 1
                    }
                }
                situation.counter.pass(seconds: 5)
            }
            #expect((100...126).contains(guesses), "\(guesses)")
            #expect(refusals == 0)
        }
    }

    /// From so many addresses that only the identifier's total limits them.
    @Test func aBotnetIsBoundedAndKnownDevicesGetIn() async throws {
        try await withSituation { situation in
            var (guesses, knownRefusals, newRefusals) = (0, 0, 0)
            for minute in 0..<(24 * 60) {
                for bot in 0..<10 {
                    let address = "bot \(minute % 50 * 10 + bot)"
                    if try await situation.signIn(from: address, isRight: false) { guesses += 1 }
                }
                if minute % 60 == 59 {
                    let onKnown = try await situation.signIn(from: "203.0.113.2", on: Self.iPhone, isRight: true)
                    let onNew = try await situation.signIn(from: "203.0.113.2", isRight: true)
                    knownRefusals += onKnown ? 0 : 1
                    newRefusals += onNew ? 0 : 1
                }
                situation.counter.pass(seconds: 60)
            }
            #expect((700...781).contains(guesses), "\(guesses)")
            #expect(knownRefusals == 0)
            // What is left then is a device that is known, Apple, or a new password.
            #expect(newRefusals > 0)
        }
    }

    /// A stranger who has got hold of a known device's identifier is limited too.
    @Test func aKnownDeviceIsBoundedToo() async throws {
        try await withSituation { situation in
            var guesses = 0
            for _ in stride(from: 0, to: Self.day, by: 60) {
                if try await situation.signIn(from: "203.0.113.1", on: Self.iPhone, isRight: false) { guesses += 1 }
                situation.counter.pass(seconds: 60)
            }
            #expect((200...252).contains(guesses), "\(guesses)")
        }
    }

    @Test func onlyWrongGuessesCount() async throws {
        try await withSituation { situation in
            for _ in 0..<250 {
                let isIn = try await situation.signIn(from: "203.0.113.1", isRight: true)
                #expect(isIn)
                await #expect(throws: HashingFailed.self) {
                    try await situation.limits.guess(
                        passwordOf: Self.ada, from: "203.0.113.1", on: nil
                    ) { throw HashingFailed() }
                }
            }
        }
    }

    private struct HashingFailed: Error {}

    /// Half a minute, then a quarter of an hour.
    @Test func theWaitGrows() async throws {
        try await withSituation { situation in
            var waits: [Int] = []
            while waits.last ?? 0 < 600, waits.count < 100 {
                do {
                    try await situation.limits.guess(
                        passwordOf: Self.ada, from: "203.0.113.1", on: nil
                    ) { throw Problem(.invalidCredentials) }
                } catch let problem as Problem where problem.code == .rateLimited {
                    let wait = try #require(problem.retryAfter)
                    waits.append(wait)
                    situation.counter.pass(seconds: Double(wait))
                } catch {}
            }
            #expect(waits.first.map { (30...32).contains($0) } == true && waits.count > 10)
            // Told in whole seconds.
            #expect(zip(waits, waits.dropFirst()).allSatisfy { $0 <= $1 + 1 })
            #expect(waits.last.map { $0 >= 899 } == true)
        }
    }

    private func asksForReset(
        _ limits: AttemptLimits, _ identifier: Identifier = ada, from address: String, on device: SessionDevice? = nil
    ) async -> Bool {
        (try? await limits.admit(resetOf: identifier, from: address, on: device)) != nil
    }

    @Test func resetsAreFewToEachAndToEverybodyTogether() async throws {
        try await withSituation { situation in
            var sent = 0
            for second in stride(from: 0, to: Self.day, by: 10) {
                if await asksForReset(situation.limits, from: "address \(Int(second) % 1000)") { sent += 1 }
                if second == 3590 { #expect(sent <= 14, "\(sent) in the first hour") }
                situation.counter.pass(seconds: 10)
            }
            // 6 and 8 at once, then one in four hours and one in six.
            #expect((22...24).contains(sent), "\(sent)")

            var all = 0
            struct HookFailed: Error {}
            for _ in 0..<700 {
                // The message has no recipient, and then its sender is away.
                try? await situation.limits.sendingReset(to: nil, isAskerKnown: false) { false }
                try? await situation.limits.sendingReset(to: nil, isAskerKnown: false) { throw HookFailed() }
                if (try? await situation.limits.sendingReset(to: nil, isAskerKnown: false) { true }) != nil { all += 1 }
            }
            #expect(all == 600)
            var fromOne = 0
            for number in 0..<60 {
                let identifier = Identifier.email(try EmailAddress("other-\(number)@example.com"))
                // Networks of one site.
                if await asksForReset(situation.limits, identifier, from: "2001:db8:1:\(number)::1") { fromOne += 1 }
            }
            #expect(fromOne == 30)
        }
    }

    /// One network that asks as often as it is let leaves the user's own request room, and a known device's always.
    @Test func resetsOfAStrangerKeepNobodyOut() async throws {
        try await withSituation { situation in
            for _ in 0..<100 { _ = await asksForReset(situation.limits, from: "203.0.113.1") }
            #expect(await !asksForReset(situation.limits, from: "203.0.113.1"))
            #expect(await asksForReset(situation.limits, from: "203.0.113.2"))
            for number in 0..<10_000 { _ = await asksForReset(situation.limits, from: "bot \(number)") }
            #expect(await !asksForReset(situation.limits, from: "203.0.113.3"))
            #expect(await asksForReset(situation.limits, from: "203.0.113.3", on: Self.iPhone))
            #expect(await asksForReset(situation.limits, from: "203.0.113.1", on: Self.iPhone))
        }
    }

    /// A plain hash of a phone number would be found by hashing all phone numbers.
    @Test func whoReadsRedisFindsNobodyByTrying() async throws {
        try await withSituation { situation in
            _ = try await situation.signIn(from: "203.0.113.1", isRight: false)
            let other = SimulatedAttemptCounter()
            let key = try KeyRing("k2:\(Data(repeating: 2, count: 32).base64EncodedString())")
            let limits = AttemptLimits(
                counter: other, knownDevices: SimulatedDevices(), keys: key)
            try await limits.guess(passwordOf: Self.ada, from: "203.0.113.1", on: nil) {}
            // The names depend on a key that is not there.
            #expect(Set(situation.counter.keys).isDisjoint(with: other.keys))
            let digests = [Self.ada.value, "phone\0\(Self.ada.value)"].map { sha256Hex($0).prefix(32) }
            for key in situation.counter.keys {
                #expect(!digests.contains { key.contains($0) } && !key.contains("171123"))
            }
        }
    }

    @Test func allowancesCanBeSet() async throws {
        let known = AttemptLimits.allowances(budget: MessageBudget())
        #expect(Set(known.map(\.name)).count == known.count)
        let two = try AttemptAllowance(parsing: "forgot:identifier=2/60", among: known)
        let both = try AttemptAllowance(parsing: "login:network=10/30+30/900", among: known)
        #expect(both == .loginFromNetwork)
        for text in [
            "", "login", "login:network", "login:network=", "login:network=1", "login:network=0/30", "x=1/1",
            "login:network=1/0", "login:network=1/1+", "login:network=1/1=2", "login:network=1/nan",
        ] {
            #expect(throws: Refusal.self, "\(text)") { try AttemptAllowance(parsing: text, among: known) }
        }
        let counter = SimulatedAttemptCounter()
        let limits = AttemptLimits(
            counter: counter, knownDevices: SimulatedDevices(), keys: .sample, overrides: [two.name: two])
        var sent = 0
        for number in 0..<100 where await asksForReset(limits, from: "bot \(number)") { sent += 1 }
        #expect(sent == 10)
    }
}
