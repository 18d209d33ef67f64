import Contracts
import Foundation
import Postgres
import Sealing
import ServiceKit
import TestKit
import Testing

@testable import IdentityService

/// Days in simulated time: strangers ask for codes, try them and pump messages.
@Suite struct CodeLimitsTests {
    private static let day = 86_400.0
    private static let ada = Identifier.email(try! EmailAddress("ada@example.com"))
    private static let iPhone = SessionDevice(installationId: "6F9619FF-8B86-D011-B42D-00CF4FC964FF")

    private struct Situation: Sendable {
        let counter = SimulatedAttemptCounter()
        let limits: AttemptLimits

        init(on database: PostgresPool, budget: MessageBudget = MessageBudget()) async throws {
            let knownDevices = KnownDeviceStore(database: database, keys: .sample)
            limits = AttemptLimits(
                counter: counter,
                knownDevices: KnownDevices(tokens: DeviceTokens(keys: .sample), store: knownDevices), keys: .sample,
                messagesPerHour: 100, messageBudget: budget)
            let account = try #require(
                try await PasswordStore(database: database).register(NewAccount(identifier: ada, passwordHash: "x")))
            try await knownDevices.remember(iPhone.installationId, of: account, deadline: .now + .seconds(60))
        }

        func ask(_ identifier: Identifier = ada, from address: String, on device: SessionDevice? = nil) async throws
            -> Bool
        {
            try await isAdmitted {
                try await limits.asking(
                    codeTo: identifier, from: address, on: device, deadline: .after(.seconds(60))
                ) {}
            }
        }

        func guess(from address: String, on device: SessionDevice? = nil, isRight: Bool = false) async throws -> Bool {
            try await isAdmitted {
                try await limits.guess(codeOf: ada, from: address, on: device, deadline: .after(.seconds(60))) {
                    if !isRight { throw Problem(.invalidCredentials) }
                }
            }
        }

        func send(to identifier: Identifier, isKnown: Bool) async throws -> Bool {
            try await isAdmitted { try await limits.sending(codeTo: identifier, isKnown: isKnown) {} }
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
        _ budget: MessageBudget = MessageBudget(), _ body: (Situation) async throws -> Void
    ) async throws {
        try await withDatabase(migrations: identityMigrations) { database in
            try await body(Situation(on: database.pool, budget: budget))
        }
    }

    /// How many of a thousand networks' guesses at one identifier are compared in a day.
    @Test func guessesADay() async throws {
        try await withSituation { situation in
            var days: [Int] = []
            for _ in 0..<3 {
                var guesses = 0
                for second in stride(from: 0, to: Self.day, by: 60) {
                    if try await situation.guess(from: "10.0.\(Int(second / 60) % 250).1") { guesses += 1 }
                    situation.counter.pass(seconds: 60)
                }
                days.append(guesses)
            }
            // 30 at once, and one an hour. With six digits a day's chance is one in 41,000.
            #expect((52...54).contains(days[0]) && days.dropFirst().allSatisfy { (23...24).contains($0) }, "\(days)")
        }
    }

    /// A stranger asks, and guesses, whenever that is possible, for two days.
    @Test func aStrangerKeepsNobodyOut() async throws {
        try await withSituation { situation in
            var (asked, guesses, refusals) = ([0, 0], [0, 0], 0)
            for day in 0..<2 {
                for second in stride(from: 0, to: Self.day, by: 60) {
                    if try await situation.ask(from: "203.0.113.1") { asked[day] += 1 }
                    if try await situation.guess(from: "203.0.113.1") { guesses[day] += 1 }
                    // Four times a day Ada signs in: elsewhere, on a device that is new.
                    if second.truncatingRemainder(dividingBy: 21_600) == 10_800 {
                        if !(try await situation.ask(from: "198.51.100.1")) { refusals += 1 }
                        if !(try await situation.guess(from: "198.51.100.1", isRight: true)) { refusals += 1 }
                    }
                    situation.counter.pass(seconds: 60)
                }
            }
            #expect((11...12).contains(asked[0]) && (5...6).contains(asked[1]), "\(asked)")
            #expect((32...34).contains(guesses[0]) && (23...24).contains(guesses[1]), "\(guesses)")
            #expect(refusals == 0)
            // From the stranger's own address, on the device that is known.
            #expect(try await situation.ask(from: "203.0.113.1", on: Self.iPhone))
            #expect(try await situation.guess(from: "203.0.113.1", on: Self.iPhone))
            #expect(try await !situation.ask(from: "203.0.113.1", on: SessionDevice(installationId: "\(UUID())")))
        }
    }

    /// Many networks use up what one identifier has; a known device still has its own.
    @Test func aBotnetKeepsNoKnownDeviceOut() async throws {
        try await withSituation { situation in
            var asked = 0
            for number in 0..<100 {
                if try await situation.ask(from: "10.0.0.\(number)") { asked += 1 }
            }
            #expect(asked == 10)
            #expect(try await !situation.ask(from: "198.51.100.1"))
            #expect(try await situation.ask(from: "198.51.100.1", on: Self.iPhone))
        }
    }

    private static func numbers(of country: Int) throws -> [Identifier] {
        try (0..<200).map { .phone(try PhoneNumber("+\(country)9\(10_000_000 + $0)")) }
    }

    /// Whoever is paid for text messages to their numbers asks for as many as can be had.
    @Test func pumpingIsBounded() async throws {
        let budget = MessageBudget(mailsPerHour: 600, textsPerHour: 60, textsPerCountryPerHour: 20)
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
            // To the first what a country may have; with the second the half for whoever is new is used up. Who has an
            // account still has a code sent.
            #expect(sent == [20, 10, 20])
            let isMailSent = try await situation.send(to: Self.ada, isKnown: true)
            #expect(isMailSent, "mails are counted apart")
        }
    }

    @Test func whatFailedDoesNotCount() async throws {
        struct Failure: Error {}
        try await withSituation(MessageBudget(mailsPerHour: 1)) { situation in
            for _ in 0..<3 {
                await #expect(throws: Failure.self) {
                    try await situation.limits.sending(codeTo: Self.ada, isKnown: true) { throw Failure() }
                }
                await #expect(throws: Failure.self) {
                    try await situation.limits.asking(
                        codeTo: Self.ada, from: "203.0.113.1", on: nil, deadline: .after(.seconds(60))
                    ) { throw Failure() }
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
