package import Foundation
package import GatehouseServiceContracts

/// Limits for passwords and codes that are tried.
extension AttemptLimits {
    /// Runs `body`, which compares a password with that of the identifier's account.
    /// - Throws: `RATE_LIMITED`, or what `body` throws; an `INVALID_CREDENTIALS` counts as a wrong guess.
    package func guess<Value>(
        passwordOf identifier: Identifier, from address: String, on device: SessionDevice?,
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
            let known = try await knownDevices.knownDevice(device, of: identifier)
            guard let known else { throw refusal }
            taken = try await take([Charge(allowance: .loginOnKnownDevice, subject: known.parts)])
        }
        return try await counting(taken, body)
    }

    /// The same for a signed-in user who has to enter the current password.
    package func guess<Value>(
        passwordOf userID: UUID, from address: String, _ body: () async throws -> Value
    ) async throws -> Value {
        let charges = [
            Self.work(.passwordChange, from: address),
            Charge(allowance: .passwordChange, subject: [userID.uuidString]),
        ]
        return try await counting(take(charges), body)
    }

    private func counting<Value>(_ taken: Taken, _ body: () async throws -> Value) async throws -> Value {
        do {
            let value = try await body()
            await refund(taken)
            return value
        } catch {
            if (error as? Problem)?.code != .invalidCredentials { await refund(taken) }
            throw error
        }
    }

    /// Runs `body`, which compares a code with those that were sent to the identifier.
    ///
    /// The guess counts once for each code that it is compared with. It is charged before the comparison, and refunded
    /// if the code was right, or if nothing was compared because a dependency was unavailable. The response to a wrong
    /// code does not affect the charge.
    /// - Parameters:
    ///   - open: the number of codes to compare with, 1 or more. Where the allowance has room for fewer, only the first
    ///     ones are compared.
    ///   - body: compares with the given number of codes, and returns `nil` where none is right.
    /// - Throws: `RATE_LIMITED`, or what `body` throws.
    package func guess<Value>(
        codeOf identifier: Identifier, open: Int, from address: String, on device: SessionDevice?,
        _ body: (_ count: Int) async throws -> Value?
    ) async throws -> Value? {
        let taken = try await take(guessesOf: identifier, open: open, from: address, on: device)
        do {
            let value = try await body(taken.cost)
            if value != nil { await refund(taken) }
            return value
        } catch {
            await refund(taken)
            throw error
        }
    }

    private func take(
        guessesOf identifier: Identifier, open: Int, from address: String, on device: SessionDevice?
    ) async throws -> Taken {
        let unknownDevices = [
            Self.work(.code, from: address),
            Charge(allowance: .codeFromNetwork, subject: identifier.parts + [ClientNetwork.site(of: address)]),
            Charge(allowance: .codeFromAnywhere, subject: identifier.parts),
        ]
        do {
            return try await take(asManyOf: unknownDevices, upTo: open)
        } catch let refusal {
            let known = try await knownDevices.knownDevice(device, of: identifier)
            guard let known, known.isVerified else { throw refusal }
            return try await take(
                asManyOf: [
                    Charge(allowance: .codeOnKnownDevice, subject: known.parts),
                    Charge(allowance: .codeOnKnownDevices, subject: Array(known.parts.prefix(1))),
                ], upTo: open)
        }
    }

    /// Takes as many as there is room for.
    private func take(asManyOf charges: [Charge], upTo count: Int) async throws(Problem) -> Taken {
        let largest = charges.flatMap { allowance($0.allowance).tiers.map(\.atOnce) }.min() ?? count
        var count = min(count, largest)
        while true {
            do {
                var taken = try await take(charges, cost: count)
                taken.cost = count
                return taken
            } catch {
                guard count > 1 else { throw error }
                count -= 1
            }
        }
    }
}
