import Foundation
import GatehouseInstruments
package import GatehouseServiceContracts

/// Limits for messages that are requested, and for messages that are sent.
extension AttemptLimits {
    /// How a message was admitted.
    package struct Admission: Sendable {
        /// The key of the known device that requested the message, in parts; `nil` for all other devices.
        package var knownDevice: [String]?
        /// Whether the request came from a known device or network of the user who has verified the identifier.
        package var isAskerKnown = false
        /// Whether two tries of the code are reserved for the device that requested it.
        package var reservesTries = true

        package init(knownDevice: [String]? = nil, isAskerKnown: Bool = false, reservesTries: Bool = true) {
            self.knownDevice = knownDevice
            self.isAskerKnown = isAskerKnown
            self.reservesTries = reservesTries
        }
    }

    /// Runs `body`, which stores a code and enqueues its message. The limits do not depend on whether an account
    /// exists.
    /// - Throws: `RATE_LIMITED`, or what `body` throws; the charge is then refunded.
    package func requesting<Value>(
        codeTo identifier: Identifier, from address: String, on device: SessionDevice?,
        _ body: (Admission) async throws -> Value
    ) async throws -> Value {
        let network = Charge(
            allowance: identifier.kind == .email ? .codeMailsFromNetwork : .codeTextsFromNetwork,
            subject: [ClientNetwork.site(of: address)])
        let (taken, admission) = try await admit(
            .codes, to: identifier, from: address, on: device, network: network, work: .code)
        do {
            return try await body(admission)
        } catch {
            await refund(taken)
            throw error
        }
    }

    /// Admits a request for a new password.
    /// - Throws: `RATE_LIMITED`.
    package func admit(
        resetOf identifier: Identifier, from address: String, on device: SessionDevice?
    ) async throws -> Admission {
        // Counted by the site, not by the /64: a site has 65,536 of these, and few messages are allowed.
        let network = Charge(allowance: .address(.forgot), subject: [ClientNetwork.site(of: address)])
        return try await admit(.resets, to: identifier, from: address, on: device, network: network, work: .reset).1
    }

    /// Charges a message to the first row that has room.
    /// - Parameters:
    ///   - network: limits one network's requests for all identifiers. It does not apply to a known device, because
    ///     other clients in the device's network can use it up.
    ///   - work: limits the database look-ups where ``MessageAllowances/anyNetwork`` has no room.
    private func admit(
        _ allowances: MessageAllowances, to identifier: Identifier, from address: String, on device: SessionDevice?,
        network: Charge, work: AttemptPurpose
    ) async throws -> (Taken, Admission) {
        let known = try await knownDevices.knownDevice(device, of: identifier)
        if let known, allowances.recognizes(known) {
            let charges = allowances.knownDevice.charges(one: known.parts, all: Array(known.parts.prefix(1)))
            if let taken = try? await take(charges) {
                return (taken, Admission(knownDevice: known.parts, isAskerKnown: known.isVerified))
            }
        }
        let site = ClientNetwork.site(of: address)
        func charges(_ row: MessageAllowances.Row) -> [Charge] {
            [network] + row.charges(one: identifier.parts + [site], all: identifier.parts)
        }
        var wait: Int
        do {
            let taken = try await take(charges(allowances.anyNetwork))
            do {
                let knownNetwork = try await knownDevices.knownNetwork(site, of: identifier)
                return (taken, Admission(isAskerKnown: knownNetwork?.isVerified ?? false))
            } catch {
                await refund(taken)
                throw error
            }
        } catch let refusal as Problem where refusal.code == .rateLimited {
            wait = refusal.retryAfter ?? 1
        }
        try await take([Self.work(work, from: address)])
        let knownNetwork = try await knownDevices.knownNetwork(site, of: identifier)
        let isAskerKnown = knownNetwork?.isVerified ?? false
        for row in allowances.furtherRows(for: knownNetwork) {
            do {
                let taken = try await take(charges(row))
                return (taken, Admission(isAskerKnown: isAskerKnown, reservesTries: row.reservesTries))
            } catch let refusal {
                wait = min(wait, refusal.retryAfter ?? 1)
            }
        }
        throw Problem(.rateLimited, retryAfter: wait)
    }

    /// Runs `body`, which sends a link for a new password if the identifier opens an account.
    /// - Parameters:
    ///   - number: set where Gatehouse itself sends a text message.
    ///   - isAskerKnown: ``Admission/isAskerKnown``.
    ///   - body: returns whether it has sent a message.
    package func sendingReset(to number: PhoneNumber?, isAskerKnown: Bool, _ body: () async throws -> Bool) async throws
    {
        let all = Charge(allowance: .allResets(isAskerKnown ? .known : .general, within: budget), subject: [])
        let texts = number.map { budgets(forCodeTo: .phone($0), isKnown: true, isAskerKnown: isAskerKnown) } ?? []
        try await sending(within: [all] + texts, body)
    }

    func budgets(forCodeTo identifier: Identifier, isKnown: Bool, isAskerKnown: Bool) -> [Charge] {
        let shares: [MessageShare] = isAskerKnown ? [.known] : isKnown ? [.general] : [.general, .new]
        return shares.flatMap { share in
            let all = Charge(allowance: .allCodes(to: identifier.kind, share, within: budget), subject: [])
            guard case .phone(let number) = identifier else { return [all] }
            return [
                all, Charge(allowance: .textsToCountry(share, within: budget), subject: [number.destination]),
            ]
        }
    }

    /// Runs `body`, which sends a message, if every budget has room.
    ///
    /// Messages cost the team money, so the total to all users is limited. Only messages that are sent count: an
    /// attacker cannot use the total up by asking for identifiers that have no account. The outbox retries later.
    /// - Parameter body: returns whether it has sent a message.
    /// - Throws: `RATE_LIMITED`, or what `body` throws; the charge is then refunded.
    func sending(within budgets: [Charge], _ body: () async throws -> Bool) async throws {
        var taken: [Taken] = []
        do {
            // One after the other, so that the metric names the exhausted budget.
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
            for taken in taken { await refund(taken) }
            throw error
        }
        for taken in taken { await refund(taken) }
    }
}

extension MessageAllowances.Row {
    /// - Parameters:
    ///   - one: the identifier on this device or network, in parts.
    ///   - all: the identifier on all of them.
    fileprivate func charges(one: [String], all: [String]) -> [AttemptLimits.Charge] {
        [
            AttemptLimits.Charge(allowance: self.one, subject: one),
            AttemptLimits.Charge(allowance: self.all, subject: all),
        ]
    }
}
