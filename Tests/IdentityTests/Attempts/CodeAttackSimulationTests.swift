import Foundation
import GatehouseServiceContracts
import Synchronization
import Testing

@testable import IdentityCore
@testable import IdentityCredentials

/// Days in which an attacker asks for codes, or links for new passwords, and guesses, from many networks. A user signs
/// in every six hours beside it. `make simulate` runs thirty days, `make test` four. The table is printed.
@Suite struct CodeAttackSimulationTests {
    enum Purpose: String, CaseIterable, Sendable { case code, reset }

    enum User: String, CaseIterable, Sendable {
        case knownDevice = "known device, own network"
        case knownDeviceBesideAttacker = "known device, the attacker's network"
        case ownNetwork = "new device, own network"
        case otherNetworks = "new device, another network each time"
        case besideAttacker = "new device, the attacker's network"

        func address(_ number: Int) -> String {
            switch self {
            case .knownDevice, .ownNetwork: "home"
            case .knownDeviceBesideAttacker, .besideAttacker: "bot 0"
            case .otherNetworks: "hotel \(number)"
            }
        }

        var device: SessionDevice? {
            self == .knownDevice || self == .knownDeviceBesideAttacker ? SimulatedDevices.known : nil
        }
    }

    /// Whose numbers the attacker has messages sent to, beside the user's, to use up what all users have together.
    enum Flood: String, CaseIterable, Sendable {
        case numbersWithoutAccount = "numbers without an account"
        case numbersOfUsers = "numbers of users in the same country"
    }

    /// The table `codes` and the phone with the messages, or the links for new passwords, by the same rules and a clock
    /// that the test moves.
    private final class Service {
        struct Sent {
            var asker: String
            var network: String
            var at: Double
            var tries = 0
            var charged = 0
            /// Whether the message has left.
            var isDelivered = false
        }

        enum Answer {
            case message(Int)
            /// 202 without a message: the link of any open code serves.
            case repeated
            case wait(seconds: Int)
            case refused
        }

        let purpose: Purpose
        let counter = SimulatedAttemptCounter()
        let devices = SimulatedDevices(networks: ["home"])
        let limits: AttemptLimits
        var now = 0.0
        var sent: [Int: Sent] = [:]
        var messages = 0
        /// Codes that wrong guesses were compared with.
        var comparisons = 0
        private var flooded = 0
        private static let number = try! PhoneNumber("+4917112345678")
        private static let ada = Identifier.phone(number)

        init(_ purpose: Purpose) {
            self.purpose = purpose
            limits = AttemptLimits(counter: counter, knownDevices: devices, keys: .sample)
        }

        func pass(_ seconds: Double) {
            now += seconds
            counter.pass(seconds: seconds)
            let lifetime = purpose == .code ? Double(CodeRules.memory) : SingleUseToken.Purpose.passwordReset.lifetime
            sent = sent.filter { $0.value.at > now - lifetime }
        }

        private struct TooSoon: Error {
            var seconds: Int
            var age: Double
        }

        func ask(from address: String, on device: SessionDevice? = nil) async throws -> Answer {
            do {
                let (id, admission) = try await admitted(from: address, on: device)
                try await deliver(id, isAskerKnown: admission.isAskerKnown)
                return .message(id)
            } catch let problem as Problem where problem.code == .rateLimited {
                return hasOpenCode ? .repeated : .refused
            } catch let soon as TooSoon {
                guard soon.age >= Double(CodeRules.delay(after: 1)) else { return .wait(seconds: soon.seconds) }
                return hasOpenCode ? .repeated : .refused
            }
        }

        /// A link serves after all tries of the digits.
        private var hasOpenCode: Bool {
            sent.values.contains { $0.at > now - Double(CodeRules.lifetime) }
        }

        /// Whether the user has the message of a code that is still valid.
        var isMessageThere: Bool {
            let lifetime = purpose == .code ? Double(CodeRules.lifetime) : SingleUseToken.Purpose.passwordReset.lifetime
            return sent.values.contains { $0.isDelivered && $0.at > now - lifetime }
        }

        private func admitted(
            from address: String, on device: SessionDevice?
        ) async throws -> (Int, AttemptLimits.Admission) {
            switch purpose {
            case .code:
                return try await limits.requesting(codeTo: Self.ada, from: address, on: device) { admission in
                    let asker = admission.knownDevice?.joined() ?? address
                    let before = sent.values.filter { $0.asker == asker }
                    let age = now - (before.map(\.at).max() ?? 0)
                    if let wait = CodeRules.wait(after: before.count, lastOneOfAge: age) {
                        throw TooSoon(seconds: wait, age: age)
                    }
                    let tries = admission.reservesTries ? 0 : CodeRules.reservedTries
                    return (keep(asker, from: address, tries: tries), admission)
                }
            case .reset:
                let admission = try await limits.admit(resetOf: Self.ada, from: address, on: device)
                return (keep(address, from: address, tries: 0), admission)
            }
        }

        private func keep(_ asker: String, from address: String, tries: Int) -> Int {
            messages += 1
            sent[messages] = Sent(asker: asker, network: address, at: now, tries: tries)
            return messages
        }

        /// The message leaves at once or not at all: the attacker takes each place that becomes free within the minute.
        private func deliver(_ id: Int, isAskerKnown: Bool) async throws {
            do {
                switch purpose {
                case .code:
                    try await limits.sending(.signIn, to: Self.ada, isKnown: true, isAskerKnown: isAskerKnown) {}
                case .reset:
                    try await limits.sendingReset(to: Self.number, isAskerKnown: isAskerKnown) { true }
                }
                sent[id]?.isDelivered = true
            } catch let problem as Problem where problem.code == .rateLimited {}
        }

        /// Has messages sent to other numbers, until neither the networks nor the budgets have room.
        func flood(_ flood: Flood, from addresses: [String]) async throws {
            for address in addresses {
                do {
                    while true {
                        flooded += 1
                        let other = Identifier.phone(try PhoneNumber("+49160\(1_000_000 + flooded)"))
                        try await limits.requesting(codeTo: other, from: address, on: nil) {
                            _ in
                        }
                        try? await limits.sending(.signIn, to: other, isKnown: flood == .numbersOfUsers) {}
                    }
                } catch let problem as Problem where problem.code == .rateLimited {}
            }
        }

        /// Those of the network first, then the newest, as `CodeStore.open`.
        private func open(_ request: Int?, from address: String = "") -> [(id: Int, payer: CodeRules.Payer)] {
            sent.filter { $0.value.at > now - Double(CodeRules.lifetime) && (request == nil || $0.key == request) }
                .sorted { one, other in
                    let (isOwn, isOthers) = (one.value.network == address, other.value.network == address)
                    return isOwn == isOthers ? one.key > other.key : isOwn
                }
                .compactMap { id, code in
                    CodeRules.payer(tries: code.tries, charged: code.charged, isBound: request != nil)
                        .map { (id, $0) }
                }
        }

        /// - Returns: whether a code was right.
        func present(_ right: Int?, request: Int?, from address: String, on device: SessionDevice? = nil) async throws
            -> Bool
        {
            let open = open(request, from: address)
            switch open.first?.payer {
            case nil: return false
            case .request: return compare(right, with: open[...])
            case .allowance:
                do {
                    return try await limits.guess(
                        codeOf: Self.ada, open: open.count, from: address, on: device
                    ) { count in compare(right, with: open.prefix(count)) ? true : nil } ?? false
                } catch let problem as Problem where problem.code == .rateLimited {
                    return false
                }
            }
        }

        private func compare(_ right: Int?, with open: ArraySlice<(id: Int, payer: CodeRules.Payer)>) -> Bool {
            for (id, payer) in open {
                sent[id]?.tries += 1
                if payer == .allowance { sent[id]?.charged += 1 }
            }
            if let right, open.contains(where: { $0.id == right }) { return true }
            comparisons += open.count
            return false
        }

        /// The user reads all that is sent, and asks again where the answer is to wait for less than a minute.
        func signIn(from address: String, on device: SessionDevice?) async throws -> Bool {
            var answer = try await ask(from: address, on: device)
            if case .wait(let seconds) = answer {
                pass(Double(seconds))
                answer = try await ask(from: address, on: device)
            }
            let isIn: Bool
            switch (purpose, answer) {
            case (.reset, _): isIn = isMessageThere
            case (.code, .message(let id)):
                guard sent[id]?.isDelivered == true else { return false }
                isIn = try await present(id, request: id, from: address, on: device)
            case (.code, .repeated): isIn = isMessageThere
            case (.code, _): isIn = false
            }
            guard isIn else { return false }
            // The others are closed.
            sent = purpose == .code ? sent.filter { $0.value.at <= now - Double(CodeRules.lifetime) } : [:]
            devices.networks.withLock { _ = $0.insert(address) }
            return true
        }
    }

    private static let day = 86_400.0
    private static let step = 1800.0

    struct Attack: Sendable {
        var networks: Int
        var flood = Flood.numbersWithoutAccount

        static let all =
            [1, 3, 100, 10_000].map { Attack(networks: $0) }
            + [1, 3].map { Attack(networks: $0, flood: .numbersOfUsers) }
    }

    private static let simulatedDays =
        ProcessInfo.processInfo.environment["GATEHOUSE_SIMULATED_DAYS"].flatMap(Double.init) ?? 4

    /// With a flood of users' numbers for three days only, which show the share.
    @Test(arguments: Purpose.allCases, Attack.all)
    func usersBesideAnAttacker(purpose: Purpose, attack: Attack) async throws {
        let (networks, flood) = (attack.networks, attack.flood)
        let length = flood == .numbersOfUsers ? 3.0 : Self.simulatedDays
        for user in User.allCases {
            let service = Service(purpose)
            var (next, served, tries, beforehand) = (0, 0, 0, 0)
            var acting: Set<Int> = [0]
            var days: [(messages: Int, comparisons: Int)] = []
            for number in 0..<Int(length * Self.day / Self.step) {
                // Always before the user: from the network that the user may share, and from the others in turn.
                var addresses = ["bot 0"]
                for _ in 0..<min(networks - 1, 8) {
                    next = next % (networks - 1) + 1
                    acting.insert(next)
                    addresses.append("bot \(next)")
                }
                for address in addresses {
                    let answer = try await service.ask(from: address)
                    guard purpose == .code else { continue }
                    if case .message(let request) = answer {
                        for _ in 0..<CodeRules.tries {
                            _ = try await service.present(nil, request: request, from: address)
                        }
                    }
                    _ = try await service.present(nil, request: nil, from: address)
                }
                if number % Int(21_600 / Self.step) == 6 {
                    try await service.flood(flood, from: Array(addresses.prefix(3)))
                    tries += 1
                    if service.isMessageThere { beforehand += 1 }
                    if try await service.signIn(from: user.address(tries), on: user.device) { served += 1 }
                }
                service.pass(Self.step)
                if (number + 1) % Int(Self.day / Self.step) == 0 {
                    days.append((service.messages, service.comparisons))
                    (service.messages, service.comparisons) = (0, 0)
                }
            }
            let later = days.dropFirst()
            let most = (later.map(\.messages).max() ?? 0, later.map(\.comparisons).max() ?? 0)
            print(
                "\(purpose.rawValue), \(networks) networks, \(flood.rawValue), \(user.rawValue):",
                "served \(served) of \(tries), \(beforehand) had a message before;",
                "messages \(days[0].messages), then \(most.0); guesses \(days[0].comparisons), then \(most.1) a day")

            #expect(tries == Int(length) * 4)
            // Eight other networks act in each step.
            if flood == .numbersWithoutAccount {
                #expect(acting.count == min(networks, 1 + 8 * Int(length * Self.day / Self.step)))
            }
            #expect(days[0].comparisons <= 54 && later.allSatisfy { $0.comparisons <= 24 }, "\(user), \(days)")
            // A message that another client requested serves too.
            if flood == .numbersWithoutAccount { #expect(served >= beforehand, "\(user)") }
            switch (user, flood) {
            case (.knownDevice, _), (.knownDeviceBesideAttacker, _), (.ownNetwork, _):
                #expect(served == tries, "\(user)")
            case (.otherNetworks, .numbersWithoutAccount) where networks <= 3: #expect(served == tries, "\(user)")
            case (.otherNetworks, .numbersWithoutAccount) where networks == 100 && length >= 30:
                #expect(served > 0, "\(user)")
            default: break
            }
        }
    }
}
