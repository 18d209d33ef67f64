import Bytes
import Contracts
import Crypto
import Foundation
import Instruments
import Sealing
import ServiceKit

/// How often somebody may try to sign in, to register, and to have messages sent. Passwords cannot be guessed by
/// patience, and a stranger who guesses does not keep the user out.
///
/// An attempt to sign in counts for the identifier from one network, and for the identifier from everywhere. A device on
/// which the user has signed in before has an allowance of its own, which nobody else can use up. Only wrong passwords
/// count: an attempt whose password was right, or was never compared, is given back.
struct AttemptLimits: Sendable {
    /// `nil` in load tests only: then nothing is counted.
    private let counter: (any AttemptCounter)?
    let knownDevices: any DeviceRecognition
    private let key: SymmetricKey
    let budget: MessageBudget
    private let overrides: [String: AttemptAllowance]
    private let held: [String: Counter]

    /// Everything that is counted.
    static func allowances(budget: MessageBudget) -> [AttemptAllowance] {
        AttemptPurpose.allCases.map(AttemptAllowance.address) + [
            .loginFromNetwork, .loginFromAnywhere, .loginOnKnownDevice, .passwordChange, .registration,
            .codeMailsFromNetwork, .codeTextsFromNetwork, .codeFromNetwork, .codeFromAnywhere, .codeOnKnownDevice,
            .codeOnKnownDevices, .noticesForOne,
        ] + MessageAllowances.codes.all + MessageAllowances.resets.all + budgets(budget)
    }

    /// The allowances that have a setting each.
    private static func budgets(_ budget: MessageBudget) -> [AttemptAllowance] {
        AttemptAllowance.codes(within: budget) + [.allResets(within: budget)]
    }

    /// - Parameters:
    ///   - keys: those of the passwords' pepper. Redis keys hold an HMAC under one derived from them, since a plain hash
    ///     of a phone number would be found by hashing all phone numbers.
    ///   - budget: how many messages are sent to all users together.
    ///   - overrides: allowances that take the place of those with the same name.
    init(
        counter: (any AttemptCounter)?, knownDevices: any DeviceRecognition, keys: KeyRing,
        budget: MessageBudget = MessageBudget(), overrides: [String: AttemptAllowance] = [:]
    ) {
        self.counter = counter
        self.knownDevices = knownDevices
        key = keys.derived(for: "gatehouse identity attempts").current.secret
        self.budget = budget
        self.overrides = overrides
        held = Dictionary(
            uniqueKeysWithValues: Self.budgets(budget).compactMap(\.setting).map { setting in
                let help = "Attempts to send a message that a budget held back, by the setting that raises it."
                return (setting, Counter("identity_messages_held_total", help: help, labels: [("setting", setting)]))
            })
    }

    /// What an attempt takes from one allowance.
    struct Charge {
        var allowance: AttemptAllowance
        /// Whose attempts the allowance counts, in parts.
        var subject: [String]
        /// Whether it is given back unless a wrong password or code was tried.
        var isForWrongGuesses = true
    }

    static func work(_ purpose: AttemptPurpose, from address: String) -> Charge {
        Charge(
            allowance: .address(purpose), subject: [ClientNetwork.subscriber(of: address)], isForWrongGuesses: false)
    }

    /// For requests that try no password.
    /// - Throws: `RATE_LIMITED`.
    func admit(_ purpose: AttemptPurpose, from address: String) async throws(Problem) {
        try await take([Self.work(purpose, from: address)])
    }

    /// - Throws: `RATE_LIMITED`.
    func admit(registrationOf identifier: Identifier, from address: String) async throws(Problem) {
        try await take([
            Self.work(.register, from: address),
            Charge(allowance: .registration, subject: identifier.parts + [ClientNetwork.site(of: address)]),
        ])
    }

    /// Runs `body`, which compares a password with that of the identifier's account.
    /// - Throws: `RATE_LIMITED`, or what `body` throws; an `INVALID_CREDENTIALS` counts as a wrong guess.
    func guess<Value>(
        passwordOf identifier: Identifier, from address: String, on device: SessionDevice?, deadline: Deadline,
        _ body: () async throws -> Value
    ) async throws -> Value {
        let charges = [
            Self.work(.login, from: address),
            Charge(allowance: .loginFromNetwork, subject: identifier.parts + [ClientNetwork.site(of: address)]),
            Charge(allowance: .loginFromAnywhere, subject: identifier.parts),
        ]
        let taken: Taken
        do {
            taken = try await take(charges)
        } catch let refusal {
            let known = try await knownDevices.knownDevice(device, of: identifier, deadline: deadline.forDatabase)
            guard let known else { throw refusal }
            taken = try await take([Charge(allowance: .loginOnKnownDevice, subject: known)])
        }
        return try await counting(taken, body)
    }

    /// The same for a user who is signed in and has to enter the current password.
    func guess<Value>(
        passwordOf userID: UUID, from address: String, _ body: () async throws -> Value
    ) async throws -> Value {
        let charges = [
            Self.work(.passwordChange, from: address),
            Charge(allowance: .passwordChange, subject: [userID.uuidString]),
        ]
        return try await counting(take(charges), body)
    }

    /// What an attempt has taken.
    struct Taken {
        var charges: [Charge] = []
        var cost = 1
        var isShared = false
    }

    /// Takes them all, or none.
    /// - Parameter cost: how often each counts.
    @discardableResult
    func take(_ charges: [Charge], cost: Int = 1) async throws(Problem) -> Taken {
        guard let counter else { return Taken() }
        switch await counter.take(charges.map(attempt), cost: cost) {
        case .taken(let isShared): return Taken(charges: charges, cost: cost, isShared: isShared)
        case .refused(let wait): throw Problem(.rateLimited, retryAfter: max(1, Int(wait.components.seconds) + 1))
        }
    }

    /// Runs `body`, which sends a message, while each of the budgets has room.
    ///
    /// Messages cost the team money, so the total to all users is limited. Only messages that are sent count: an attacker
    /// cannot use the total up by asking for identifiers that have no account. The outbox tries again later.
    /// - Parameter body: returns whether it has sent a message.
    /// - Throws: `RATE_LIMITED`, or what `body` throws; then nothing counts.
    func sending(within budgets: [Charge], _ body: () async throws -> Bool) async throws {
        var taken: [Taken] = []
        do {
            // One after the other, so that the metric names the one that is spent.
            for budget in budgets {
                do {
                    taken.append(try await take([budget]))
                } catch {
                    budget.allowance.setting.flatMap { held[$0] }?.increment()
                    throw error
                }
            }
            if try await body() { return }
        } catch {
            for taken in taken { await forgive(taken) }
            throw error
        }
        for taken in taken { await forgive(taken) }
    }

    func counting<Value>(_ taken: Taken, _ body: () async throws -> Value) async throws -> Value {
        do {
            let value = try await body()
            await forgive(taken)
            return value
        } catch {
            if (error as? Problem)?.code != .invalidCredentials { await forgive(taken) }
            throw error
        }
    }

    func forgive(_ taken: Taken) async {
        let forgiven = taken.charges.filter(\.isForWrongGuesses)
        guard let counter, !forgiven.isEmpty else { return }
        await counter.refund(forgiven.map(attempt), cost: taken.cost, isShared: taken.isShared)
    }

    private func attempt(_ charge: Charge) -> Attempt {
        Attempt(
            allowance: overrides[charge.allowance.name] ?? charge.allowance, key: name(of: charge.subject))
    }

    /// The subject's HMAC, which stands in Redis in its place.
    private func name(of subject: [String]) -> String {
        // No part holds a NUL, so that two subjects never make the same text.
        let text = Data(subject.joined(separator: "\0").utf8)
        return Base64URL.string(HMAC<SHA256>.authenticationCode(for: text, using: key).prefix(16))
    }
}

extension Identifier {
    var parts: [String] { [kind.rawValue, value] }
}

/// Messages that are asked for and sent, and codes that are tried.
extension AttemptLimits {
    /// How a message was admitted.
    struct Admission: Sendable {
        /// What names the known device that asked, in parts; `nil` for all others.
        var knownDevice: [String]?
        /// Whether two tries of the code are reserved for the device that asked.
        var reservesTries = true
    }

    /// Runs `body`, which keeps a code and enqueues its message. Whether there is an account makes no difference here.
    /// - Throws: `RATE_LIMITED`, or what `body` throws; then nothing counts.
    func asking<Value>(
        codeTo identifier: Identifier, from address: String, on device: SessionDevice?, deadline: Deadline,
        _ body: (Admission) async throws -> Value
    ) async throws -> Value {
        let network = Charge(
            allowance: identifier.kind == .email ? .codeMailsFromNetwork : .codeTextsFromNetwork,
            subject: [ClientNetwork.site(of: address)])
        let (taken, admission) = try await admit(
            .codes, to: identifier, from: address, on: device, network: network, work: .code, deadline: deadline)
        do {
            return try await body(admission)
        } catch {
            await forgive(taken)
            throw error
        }
    }

    /// Admits a request for a new password.
    /// - Throws: `RATE_LIMITED`.
    func admit(
        resetOf identifier: Identifier, from address: String, on device: SessionDevice?, deadline: Deadline
    ) async throws {
        // By the site, not by the /64: a site has 65,536 of these, and few messages are allowed.
        let network = Charge(allowance: .address(.forgot), subject: [ClientNetwork.site(of: address)])
        _ = try await admit(
            .resets, to: identifier, from: address, on: device, network: network, work: .reset, deadline: deadline)
    }

    /// Takes a place for a message from the first allowance that has room (``MessageAllowances``).
    /// - Parameters:
    ///   - network: what one network may ask for, for all identifiers. It does not hold for a known device, since
    ///     others in its network can use it up.
    ///   - work: bounds the look-ups in the database where the first place is taken.
    private func admit(
        _ allowances: MessageAllowances, to identifier: Identifier, from address: String, on device: SessionDevice?,
        network: Charge, work: AttemptPurpose, deadline: Deadline
    ) async throws -> (Taken, Admission) {
        let site = ClientNetwork.site(of: address)
        let (all, here) = (identifier.parts, identifier.parts + [site])
        let known = try await knownDevices.knownDevice(device, of: identifier, deadline: deadline.forDatabase)
        if let known {
            let charges = [
                Charge(allowance: allowances.onKnownDevice, subject: known),
                Charge(allowance: allowances.onKnownDevices, subject: Array(known.prefix(1))),
            ]
            if let taken = try? await take(charges) { return (taken, Admission(knownDevice: known)) }
        }
        let fromHere = Charge(allowance: allowances.fromNetwork, subject: here)
        var wait: Int
        do {
            let taken = try await take([network, fromHere, Charge(allowance: allowances.forOne, subject: all)])
            return (taken, Admission())
        } catch let refusal {
            wait = refusal.retryAfter ?? 1
        }
        try await take([Self.work(work, from: address)])
        var others: [(charges: [Charge], admission: Admission)] = []
        if try await knownDevices.isKnown(network: site, of: identifier, deadline: deadline.forDatabase) {
            let charges = [
                Charge(allowance: allowances.onKnownNetwork, subject: here),
                Charge(allowance: allowances.onKnownNetworks, subject: all),
            ]
            others.append((charges, Admission()))
        }
        let first = [
            Charge(allowance: allowances.firstFromNetwork, subject: here),
            Charge(allowance: allowances.firsts, subject: all),
        ]
        others.append((first, Admission()))
        if let more = allowances.more {
            others.append(([fromHere, Charge(allowance: more, subject: all)], Admission(reservesTries: false)))
        }
        for (charges, admission) in others {
            do {
                return (try await take([network] + charges), admission)
            } catch let refusal {
                wait = min(wait, refusal.retryAfter ?? 1)
            }
        }
        throw Problem(.rateLimited, retryAfter: wait)
    }

    /// Runs `body`, which sends a message with a code or a notice.
    /// - Parameter isKnown: whether an account has the identifier.
    /// - Throws: `RATE_LIMITED`, or what `body` throws; then nothing counts.
    func sending(
        _ kind: MessageKind, to identifier: Identifier, isKnown: Bool, _ body: () async throws -> Void
    ) async throws {
        let budgets: [Charge]
        if kind.isSecurityNotice {
            budgets = [
                Charge(allowance: .noticesForOne, subject: [kind.rawValue] + identifier.parts),
                Charge(allowance: .allNotices(to: identifier.kind, within: budget), subject: []),
            ]
        } else {
            budgets = self.budgets(forCodeTo: identifier, isKnown: isKnown)
        }
        try await sending(within: budgets) {
            try await body()
            return true
        }
    }

    /// Runs `body`, which sends a link for a new password or finds that there is none to send.
    /// - Parameters:
    ///   - number: where Gatehouse itself sends a text message.
    ///   - body: returns whether it has sent a message.
    func sendingReset(to number: PhoneNumber?, _ body: () async throws -> Bool) async throws {
        let texts = number.map { budgets(forCodeTo: .phone($0), isKnown: true) } ?? []
        try await sending(
            within: [Charge(allowance: .allResets(within: budget), subject: [])] + texts, body)
    }

    private func budgets(forCodeTo identifier: Identifier, isKnown: Bool) -> [Charge] {
        func all(isKnown: Bool) -> Charge {
            Charge(allowance: .allCodes(to: identifier.kind, isKnown: isKnown, within: budget), subject: [])
        }
        var charges = [all(isKnown: true)]
        if case .phone(let number) = identifier {
            charges.append(Charge(allowance: .textsToCountry(within: budget), subject: [number.destination]))
        }
        if !isKnown { charges.append(all(isKnown: false)) }
        return charges
    }

    /// Runs `body`, which compares a code with those that were sent to the identifier.
    ///
    /// The guess counts once for each code that it is compared with. It is charged before it is compared, and given back
    /// where it was right, or where nothing was compared because something was away. Whatever is answered to a wrong one
    /// makes no difference.
    /// - Parameters:
    ///   - open: how many codes there are to compare with, 1 or more. Where there is room for fewer, the newest are
    ///     compared.
    ///   - body: compares with so many codes, and returns `nil` where none is right.
    /// - Throws: `RATE_LIMITED`, or what `body` throws.
    func guess<Value>(
        codeOf identifier: Identifier, open: Int, from address: String, on device: SessionDevice?, deadline: Deadline,
        _ body: (_ count: Int) async throws -> Value?
    ) async throws -> Value? {
        let taken = try await take(guessesOf: identifier, open: open, from: address, on: device, deadline: deadline)
        do {
            let value = try await body(taken.cost)
            if value != nil { await forgive(taken) }
            return value
        } catch {
            await forgive(taken)
            throw error
        }
    }

    private func take(
        guessesOf identifier: Identifier, open: Int, from address: String, on device: SessionDevice?, deadline: Deadline
    ) async throws -> Taken {
        let strangers = [
            Self.work(.code, from: address),
            Charge(allowance: .codeFromNetwork, subject: identifier.parts + [ClientNetwork.site(of: address)]),
            Charge(allowance: .codeFromAnywhere, subject: identifier.parts),
        ]
        do {
            return try await take(asManyOf: strangers, upTo: open)
        } catch let refusal {
            let known = try await knownDevices.knownDevice(device, of: identifier, deadline: deadline.forDatabase)
            guard let known else { throw refusal }
            return try await take(
                asManyOf: [
                    Charge(allowance: .codeOnKnownDevice, subject: known),
                    Charge(allowance: .codeOnKnownDevices, subject: Array(known.prefix(1))),
                ], upTo: open)
        }
    }

    /// Half as many each time, until there is room.
    private func take(asManyOf charges: [Charge], upTo count: Int) async throws(Problem) -> Taken {
        var count = count
        while true {
            do {
                var taken = try await take(charges, cost: count)
                taken.cost = count
                return taken
            } catch {
                guard count > 1 else { throw error }
                count /= 2
            }
        }
    }
}
