import Contracts
import Foundation
import ServiceKit

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
