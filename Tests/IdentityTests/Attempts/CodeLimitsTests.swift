import Foundation
import GatehouseServiceContracts
import MetricsTestKit
import Postgres
import Sealing
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityCredentials
@testable import IdentityService

/// Days in simulated time: strangers ask for codes, try them and pump messages.
@Suite struct CodeLimitsTests {
    private static let day = 86_400.0
    private static let ada = Identifier.email(try! EmailAddress("ada@example.com"))
    private static let iPhone = SessionDevice(installationId: "6F9619FF-8B86-D011-B42D-00CF4FC964FF")

    private struct Situation: Sendable {
        let counter = SimulatedAttemptCounter()
        let limits: AttemptLimits

        /// - Parameter isVerified: whether the user with the known device and network has verified the identifier.
        init(
            on database: PostgresPool, budget: MessageBudget, isVerified: Bool, metrics: TestMetrics
        ) async throws {
            let knownDevices = KnownDeviceStore(database: database, keys: .sample)
            limits = AttemptLimits(
                counter: counter,
                knownDevices: KnownDevices(tokens: KnownDeviceTokens(keys: .sample), store: knownDevices),
                keys: .sample, budget: budget, metrics: metrics)
            let account = try #require(
                try await PasswordStore(database: database).register(NewAccount(identifier: ada, passwordHash: "x")))
            try await knownDevices.remember(iPhone.installationId, of: account)
            try await knownDevices.remember(network: "198.51.100.7", of: account.id)
            try await database.query("UPDATE identifiers SET verified = \(isVerified)")
        }

        func ask(_ identifier: Identifier = ada, from address: String, on device: SessionDevice? = nil) async throws
            -> Bool
        {
            try await isAdmitted {
                try await limits.requesting(codeTo: identifier, from: address, on: device) { _ in }
            }
        }

        /// - Parameter open: how many codes there are.
        /// - Returns: how many the guess was compared with.
        func guess(
            from address: String, on device: SessionDevice? = nil, open: Int = 1, isRight: Bool = false
        ) async throws -> Int {
            var compared = 0
            _ = try await isAdmitted {
                _ = try await limits.guess(codeOf: ada, open: open, from: address, on: device) { count in
                    compared = count
                    return isRight ? true : nil
                }
            }
            return compared
        }

        func send(
            _ kind: MessageKind = .signIn, to identifier: Identifier, isKnown: Bool, isAskerKnown: Bool = false
        ) async throws -> Bool {
            try await isAdmitted {
                try await limits.sending(kind, to: identifier, isKnown: isKnown, isAskerKnown: isAskerKnown) {}
            }
        }

        /// - Returns: whether a known device or network has asked, as its message tells; `nil` where none was admitted.
        func asker(
            of ask: AttemptPurpose = .code, from address: String, on device: SessionDevice? = nil
        ) async throws -> Bool? {
            do {
                guard ask == .code else {
                    return try await limits.admit(resetOf: ada, from: address, on: device).isAskerKnown
                }
                return try await limits.requesting(codeTo: ada, from: address, on: device) {
                    $0.isAskerKnown
                }
            } catch let problem as Problem where problem.code == .rateLimited {
                return nil
            }
        }

        private func isAdmitted(_ body: () async throws -> Void) async throws -> Bool {
            do {
                try await body()
                return true
            } catch let problem as Problem {
                return problem.code != .rateLimited
            }
        }
    }

    private func withSituation(
        _ budget: MessageBudget = MessageBudget(), isVerified: Bool = true, metrics: TestMetrics = TestMetrics(),
        _ body: (Situation) async throws -> Void
    ) async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            try await body(Situation(on: database.pool, budget: budget, isVerified: isVerified, metrics: metrics))
        }
    }

    /// How many codes the guesses of 250 networks at one identifier are compared with in a day.
    @Test func guessesADay() async throws {
        try await withSituation { situation in
            var days: [Int] = []
            for _ in 0..<3 {
                var compared = 0
                for second in stride(from: 0, to: Self.day, by: 60) {
                    let number = Int(second / 60)
                    compared += try await situation.guess(from: "10.0.\(number % 250).1", open: number % 20 + 1)
                    situation.counter.pass(seconds: 60)
                }
                days.append(compared)
            }
            // 6 at once, and one in six hours.
            #expect((9...10).contains(days[0]) && days.dropFirst().allSatisfy { (3...4).contains($0) }, "\(days)")
        }
    }

    /// A guess that is compared with three codes counts three times, and a right one not at all.
    @Test func aGuessCountsOnceForEachCode() async throws {
        try await withSituation { situation in
            for _ in 0..<20 {
                let compared = try await situation.guess(from: "203.0.113.1", open: 3, isRight: true)
                #expect(compared == 3)
            }
            // Four from one network, six from all, and the known device's own.
            let compared = [
                try await situation.guess(from: "203.0.113.1", open: 3),
                try await situation.guess(from: "203.0.113.1", open: 3),
                try await situation.guess(from: "203.0.113.1"),
                try await situation.guess(from: "203.0.113.2", open: 5),
                try await situation.guess(from: "203.0.113.3"),
                try await situation.guess(from: "203.0.113.3", on: Self.iPhone),
            ]
            #expect(compared == [3, 1, 0, 2, 0, 1])
        }
    }

    /// As many codes as there is room for, not half of them.
    @Test func asManyCodesAsFitAreCompared() async throws {
        try await withSituation { situation in
            let compared = [
                try await situation.guess(from: "203.0.113.1"),
                try await situation.guess(from: "203.0.113.1", open: 5),
                try await situation.guess(from: "203.0.113.2", open: 17),
                try await situation.guess(from: "203.0.113.3", open: 17),
                try await situation.guess(from: "203.0.113.3", on: Self.iPhone, open: 17),
            ]
            #expect(compared == [1, 3, 2, 0, 5])
        }
    }

    /// An attacker who registers another user's address has devices and networks on which they have signed in. For
    /// codes they count no more than any other.
    @Test func theDeviceOfAnUnverifiedAddressIsNotKnown() async throws {
        try await withSituation(isVerified: false) { situation in
            for _ in 0..<6 { _ = try await situation.guess(from: "\(UUID())") }
            #expect(try await situation.guess(from: "203.0.113.1", on: Self.iPhone) == 0)
            for number in 0..<100 { _ = try await situation.ask(from: "10.0.0.\(number)") }
            #expect(try await !situation.ask(from: "203.0.113.1", on: Self.iPhone))
            #expect(try await !situation.ask(from: "198.51.100.7"))
            // A link for a new password cannot be guessed. Its message is not of those for known devices, though.
            #expect(try await situation.asker(of: .forgot, from: "203.0.113.1", on: Self.iPhone) == false)
        }
    }

    /// An attacker who has made any number of known devices is limited by what all of them have together.
    @Test func knownDevicesAreFewTogether() async throws {
        let limits = AttemptLimits(counter: SimulatedAttemptCounter(), knownDevices: AnyDevice(), keys: .sample)
        var (asked, compared) = (0, 0)
        for number in 0..<100 {
            let device = SessionDevice(installationId: "device \(number)")
            let before = asked
            _ = try? await limits.requesting(codeTo: Self.ada, from: "a", on: device) {
                if $0.knownDevice != nil { asked += 1 }
            }
            if asked == before {
                _ = try? await limits.guess(codeOf: Self.ada, open: 1, from: "a", on: device) { count -> Bool? in
                    compared += count
                    return nil
                }
            }
        }
        #expect(asked == 6)
        // Four from the network, ten from all devices.
        #expect(compared == 14)
    }

    private struct AnyDevice: DeviceRecognition {
        func knownDevice(_ device: SessionDevice?, of identifier: Identifier) async throws -> KnownOrigin? {
            device?.installationId.map { KnownOrigin(parts: ["user", $0], isVerified: true) }
        }

        func knownNetwork(_ network: String, of identifier: Identifier) async throws -> KnownOrigin? {
            nil
        }
    }

    /// Ten networks that ask once each leave room for the user, and a hundred for the user's device and network.
    @Test func manyNetworksKeepNobodyOut() async throws {
        try await withSituation { situation in
            for number in 0..<10 { #expect(try await situation.ask(from: "10.0.0.\(number)")) }
            #expect(try await situation.ask(from: "192.0.2.1"))
            var asked = 0
            for number in 0..<100 where try await situation.ask(from: "10.0.1.\(number)") { asked += 1 }
            #expect(asked == 6)
            #expect(try await !situation.ask(from: "192.0.2.2"))
            #expect(try await situation.ask(from: "198.51.100.7"), "a network from which the user has signed in")
            #expect(try await situation.ask(from: "192.0.2.2", on: Self.iPhone))
            #expect(try await situation.ask(from: "10.0.1.1", on: Self.iPhone))
            #expect(try await !situation.ask(from: "192.0.2.2", on: SessionDevice(installationId: "\(UUID())")))
        }
    }

    /// Codes for other identifiers use up what a network has, but not what a known device has.
    @Test func aNetworkIsSharedWithStrangers() async throws {
        try await withSituation { situation in
            var asked = 0
            for number in 0..<100 {
                let other = Identifier.email(try EmailAddress("other-\(number)@example.com"))
                if try await situation.ask(other, from: "203.0.113.1") { asked += 1 }
            }
            #expect(asked == 60)
            #expect(try await !situation.ask(from: "203.0.113.1"))
            #expect(try await situation.ask(from: "203.0.113.1", on: Self.iPhone))
        }
    }

    /// Strangers who ask for codes cannot hold back the notice of a change.
    @Test func noticesHaveABudgetOfTheirOwn() async throws {
        let budget = MessageBudget(mailsPerHour: 4, newMailsPerHour: 2, noticeMailsPerHour: 8)
        try await withSituation(budget) { situation in
            for isKnown in [false, true] {
                while try await situation.send(to: Self.ada, isKnown: isKnown) {}
            }
            #expect(try await situation.send(.identifierChanged, to: Self.ada, isKnown: false))
            #expect(try await situation.send(.identifierLost, to: Self.ada, isKnown: true))
            // One identifier has six of a kind in an hour, and no more of what all have.
            var notices = 0
            while try await situation.send(.identifierLost, to: Self.ada, isKnown: true) { notices += 1 }
            #expect(notices == 5)
            let bob = Identifier.email(try EmailAddress("bob@example.com"))
            #expect(try await situation.send(.identifierLost, to: bob, isKnown: false))
            #expect(try await situation.send(.passwordChanged, to: bob, isKnown: false))
            #expect(try await !situation.send(.passwordChanged, to: bob, isKnown: false))
            // Those that undo a change are counted apart.
            #expect(try await situation.send(.identifierChanged, to: bob, isKnown: false))
            #expect(try await situation.send(.accountsMerged, to: bob, isKnown: false))
        }
    }

    /// The alert names the setting that would let the message leave.
    @Test(arguments: [false, true]) func whatABudgetHoldsBackIsCountedByItsSetting(isKnown: Bool) async throws {
        let metrics = TestMetrics()
        let budget = MessageBudget(mailsPerHour: 4, newMailsPerHour: 2)
        try await withSituation(budget, metrics: metrics) { situation in
            var sent = 0
            while try await situation.send(to: Self.ada, isKnown: isKnown) { sent += 1 }
            #expect(sent == (isKnown ? 4 : 2))
            let spent = isKnown ? "IDENTITY_CODE_MAILS_PER_HOUR" : "IDENTITY_CODE_MAILS_TO_NEW_PER_HOUR"
            for setting in Set(AttemptAllowance.messages(within: budget).compactMap(\.setting)) {
                let held = try metrics.expectCounter("identity_messages_held_total", [("setting", setting)])
                #expect(held.totalValue == (setting == spent ? 1 : 0), "\(setting)")
            }
        }
    }

    /// Strangers have used up every budget, those of the user's country included. The message that a known device or
    /// network asks for leaves all the same.
    @Test func messagesOfKnownDevicesLeaveBesideAFlood() async throws {
        try await withSituation { situation in
            for ask in [AttemptPurpose.code, .forgot] {
                #expect(try await situation.asker(of: ask, from: "198.51.100.7") == true)
                #expect(try await situation.asker(of: ask, from: "203.0.113.1", on: Self.iPhone) == true)
                #expect(try await situation.asker(of: ask, from: "203.0.113.2") == false)
                // The rows behind the first say the same.
                for number in 0..<10 { _ = try await situation.asker(of: ask, from: "10.0.0.\(number)") }
                #expect(try await situation.asker(of: ask, from: "198.51.100.7") == true)
            }
            let numbers = try Self.numbers(of: 49)
            // Half of the country's are for numbers that no account has.
            var sent = 0
            for number in numbers { if try await situation.send(to: number, isKnown: false) { sent += 1 } }
            #expect(sent == 15)
            #expect(try await situation.send(to: numbers[0], isKnown: true))
            for number in numbers { _ = try await situation.send(to: number, isKnown: true) }
            while try await situation.send(to: Self.ada, isKnown: true) {}
            for identifier in [numbers[0], Self.ada] {
                #expect(try await !situation.send(to: identifier, isKnown: true))
                #expect(try await situation.send(to: identifier, isKnown: true, isAskerKnown: true))
            }
            // What they have is bounded too.
            sent = 1
            for number in numbers {
                if try await situation.send(to: number, isKnown: true, isAskerKnown: true) { sent += 1 }
            }
            #expect(sent == 30)
        }
    }

    private static func numbers(of country: Int) throws -> [Identifier] {
        try (0..<200).map { .phone(try PhoneNumber("+\(country)9\(10_000_000 + $0)")) }
    }

    /// An attacker who is paid for text messages to their numbers asks for as many as can be had.
    @Test func pumpingIsBounded() async throws {
        let budget = MessageBudget(textsPerHour: 60, newTextsPerHour: 30, textsPerCountryPerHour: 20)
        try await withSituation(budget) { situation in
            var asked = 0
            for number in try Self.numbers(of: 992) {
                if try await situation.ask(number, from: "203.0.113.1") { asked += 1 }
            }
            #expect(asked == 20, "from one network")

            var sent: [Int] = []
            for (country, isKnown) in [(992, false), (960, false), (49, true)] {
                var count = 0
                for number in try Self.numbers(of: country) {
                    if try await situation.send(to: number, isKnown: isKnown) { count += 1 }
                }
                sent.append(count)
            }
            // Numbers that no account has get half of what a country may have. Numbers of users get all of it.
            #expect(sent == [10, 10, 20])
            let isMailSent = try await situation.send(to: Self.ada, isKnown: true)
            #expect(isMailSent, "mails are counted apart")
        }
    }

    @Test func whatFailedDoesNotCount() async throws {
        struct Failure: Error {}
        try await withSituation(MessageBudget(mailsPerHour: 1)) { situation in
            for _ in 0..<3 {
                await #expect(throws: Failure.self) {
                    try await situation.limits.sending(.signIn, to: Self.ada, isKnown: true) { throw Failure() }
                }
                await #expect(throws: Failure.self) {
                    try await situation.limits.requesting(
                        codeTo: Self.ada, from: "203.0.113.1", on: nil
                    ) { _ in throw Failure() }
                }
            }
            let (isSent, isSentAgain) = (
                try await situation.send(to: Self.ada, isKnown: true),
                try await situation.send(to: Self.ada, isKnown: true)
            )
            #expect(isSent && !isSentAgain)
        }
    }
}
