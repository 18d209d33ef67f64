import Contracts
import Foundation
import ServiceKit

/// Codes: how many are asked for, sent and tried.
extension AttemptLimits {
    /// Runs `body`, which keeps a code and has it sent. Whether there is an account makes no difference here.
    /// - Throws: `RATE_LIMITED`, or what `body` throws; then nothing counts.
    func asking<Value>(
        codeTo identifier: Identifier, from address: String, on device: SessionDevice?, deadline: Deadline,
        _ body: () async throws -> Value
    ) async throws -> Value {
        let site = ClientNetwork.site(of: address)
        let network = Charge(
            allowance: identifier.kind == .email ? .codeMailsFromNetwork : .codeTextsFromNetwork, subject: [site])
        let taken = try await take(
            [
                network, Charge(allowance: .codesForOneFromNetwork, subject: identifier.parts + [site]),
                Charge(allowance: .codesForOne, subject: identifier.parts),
            ], orOn: device, of: identifier, [network], .codesOnKnownDevice, deadline: deadline)
        do {
            return try await body()
        } catch {
            await forgive(taken)
            throw error
        }
    }

    /// Runs `body`, which sends a code. The totals count messages that are sent, later and unseen.
    /// - Parameter isKnown: whether an account has the identifier.
    /// - Throws: `RATE_LIMITED`, or what `body` throws; then nothing counts.
    func sending(codeTo identifier: Identifier, isKnown: Bool, _ body: () async throws -> Void) async throws {
        func all(isKnown: Bool) -> Charge {
            Charge(allowance: .allCodes(to: identifier.kind, isKnown: isKnown, within: messageBudget), subject: [])
        }
        var charges =
            switch identifier {
            case .email: [all(isKnown: true)]
            case .phone(let number): charges(forTextTo: number)
            }
        if !isKnown { charges.append(all(isKnown: false)) }
        let taken = try await take(charges)
        do {
            try await body()
        } catch {
            await forgive(taken)
            throw error
        }
    }

    func charges(forTextTo number: PhoneNumber) -> [Charge] {
        [
            Charge(allowance: .allCodes(to: .phone, isKnown: true, within: messageBudget), subject: []),
            Charge(allowance: .textsToCountry(within: messageBudget), subject: [number.destination]),
        ]
    }

    /// Runs `body`, which compares a code with those that were sent to the identifier.
    /// - Throws: `RATE_LIMITED`, or what `body` throws; an `INVALID_CREDENTIALS` counts as a wrong guess.
    func guess<Value>(
        codeOf identifier: Identifier, from address: String, on device: SessionDevice?, deadline: Deadline,
        _ body: () async throws -> Value
    ) async throws -> Value {
        let work = Self.work(.code, from: address)
        let taken = try await take(
            [
                work,
                Charge(allowance: .codeFromNetwork, subject: identifier.parts + [ClientNetwork.site(of: address)]),
                Charge(allowance: .codeFromAnywhere, subject: identifier.parts),
            ], orOn: device, of: identifier, [work], .codeOnKnownDevice, deadline: deadline)
        return try await counting(taken, body)
    }

    /// Takes the charges. Where there is no room, a device on which the identifier's user has signed in before has an
    /// allowance of its own, beside `always`.
    private func take(
        _ charges: [Charge], orOn device: SessionDevice?, of identifier: Identifier, _ always: [Charge],
        _ allowance: AttemptAllowance, deadline: Deadline
    ) async throws -> Taken {
        do {
            return try await take(charges)
        } catch let refusal {
            let known = try await knownDevices.knownDevice(device, of: identifier, deadline: deadline.forDatabase)
            guard let known else { throw refusal }
            return try await take(always + [Charge(allowance: allowance, subject: known)])
        }
    }
}
