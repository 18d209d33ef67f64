import Contracts
import Foundation
import ServiceKit
import Synchronization
import Testing

@testable import IdentityService

/// Thirty days in which an attacker asks for codes, or links for new passwords, and guesses, from many networks. A user
/// signs in every six hours beside it. The table is printed; identity's README has the figures.
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

    /// The table `codes`, or the mailbox with links, by the same rules and a clock that the test moves.
    private final class Service {
        struct Sent {
            var asker: String
            var at: Double
            var tries = 0
            var byAnybody = 0
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
        private static let ada = Identifier.email(try! EmailAddress("ada@example.com"))
        private static let deadline = Deadline.after(.seconds(86_400))

        init(_ purpose: Purpose) {
            self.purpose = purpose
            limits = AttemptLimits(counter: counter, knownDevices: devices, keys: .sample)
        }

        func pass(_ seconds: Double) {
            now += seconds
            counter.pass(seconds: seconds)
            let lifetime = purpose == .code ? Double(CodeRules.memory) : ResetToken.lifetime
            sent = sent.filter { $0.value.at > now - lifetime }
        }

        private struct TooSoon: Error {}

        /// - Returns: the message's number; `nil` where none was sent.
        func ask(from address: String, on device: SessionDevice? = nil) async throws -> Int? {
            do {
                switch purpose {
                case .code:
                    return try await limits.asking(
                        codeTo: Self.ada, from: address, on: device, deadline: Self.deadline
                    ) { admission in
                        let asker = admission.knownDevice?.joined() ?? address
                        let before = sent.values.filter { $0.asker == asker }
                        let age = now - (before.map(\.at).max() ?? 0)
                        if CodeRules.wait(after: before.count, lastOneOfAge: age) != nil { throw TooSoon() }
                        return keep(asker, tries: admission.reservesTries ? 0 : CodeRules.triesOfRequest)
                    }
                case .reset:
                    try await limits.admit(resetOf: Self.ada, from: address, on: device, deadline: Self.deadline)
                    return keep(address, tries: 0)
                }
            } catch let problem as Problem where problem.code == .rateLimited {
                return nil
            } catch is TooSoon {
                return nil
            }
        }

        private func keep(_ asker: String, tries: Int) -> Int {
            messages += 1
            sent[messages] = Sent(asker: asker, at: now, tries: tries)
            return messages
        }

        /// The newest first, as `CodeStore.open`.
        private func open(_ request: Int?) -> [(id: Int, payer: CodeRules.Payer)] {
            sent.filter { $0.value.at > now - Double(CodeRules.lifetime) && (request == nil || $0.key == request) }
                .sorted { $0.key > $1.key }
                .compactMap { id, code in
                    CodeRules.payer(tries: code.tries, byAnybody: code.byAnybody, isBound: request != nil)
                        .map { (id, $0) }
                }
        }

        /// - Returns: whether a code was right.
        func show(_ right: Int?, request: Int?, from address: String, on device: SessionDevice? = nil) async throws
            -> Bool
        {
            let open = open(request)
            switch open.first?.payer {
            case nil: return false
            case .request: return compare(right, with: open[...])
            case .anybody:
                do {
                    return try await limits.guess(
                        codeOf: Self.ada, open: open.count, from: address, on: device, deadline: Self.deadline
                    ) { count in compare(right, with: open.prefix(count)) ? true : nil } ?? false
                } catch let problem as Problem where problem.code == .rateLimited {
                    return false
                }
            }
        }

        private func compare(_ right: Int?, with open: ArraySlice<(id: Int, payer: CodeRules.Payer)>) -> Bool {
            for (id, payer) in open {
                sent[id]?.tries += 1
                if payer == .anybody { sent[id]?.byAnybody += 1 }
            }
            if open.contains(where: { $0.id == right }) { return true }
            comparisons += open.count
            return false
        }

        /// The user reads all that is sent.
        func signIn(from address: String, on device: SessionDevice?) async throws -> Bool {
            let asked = try await ask(from: address, on: device)
            let last = sent.keys.max()
            let isIn: Bool
            switch purpose {
            case .code: isIn = try await show(asked ?? last, request: asked, from: address, on: device)
            case .reset: isIn = last != nil
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

    @Test(arguments: Purpose.allCases, [1, 3, 100, 10_000])
    func thirtyDays(purpose: Purpose, networks: Int) async throws {
        for user in User.allCases {
            let service = Service(purpose)
            var (next, served, tries) = (0, 0, 0)
            var days: [(messages: Int, comparisons: Int)] = []
            for number in 0..<Int(30 * Self.day / Self.step) {
                // Always before the user: from the network that the user may share, and from the others in turn.
                var addresses = ["bot 0"]
                for _ in 0..<min(networks - 1, 4) {
                    next = next % (networks - 1) + 1
                    addresses.append("bot \(next)")
                }
                for address in addresses {
                    let request = try await service.ask(from: address)
                    guard purpose == .code else { continue }
                    if let request {
                        for _ in 0..<CodeRules.tries {
                            _ = try await service.show(nil, request: request, from: address)
                        }
                    }
                    _ = try await service.show(nil, request: nil, from: address)
                }
                if number % Int(21_600 / Self.step) == 6 {
                    tries += 1
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
                "\(purpose.rawValue), \(networks) networks, \(user.rawValue): served \(served) of \(tries);",
                "messages \(days[0].messages), then \(most.0); guesses \(days[0].comparisons), then \(most.1) a day")

            #expect(tries == 120)
            #expect(days[0].comparisons <= 54 && later.allSatisfy { $0.comparisons <= 24 }, "\(user), \(days)")
            switch user {
            case .knownDevice, .knownDeviceBesideAttacker, .ownNetwork: #expect(served == tries, "\(user)")
            case .otherNetworks where networks <= 3: #expect(served == tries, "\(user)")
            case .otherNetworks where networks == 100: #expect(served > 0, "\(user)")
            case .otherNetworks, .besideAttacker: break
            }
        }
    }
}
