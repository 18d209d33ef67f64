import AccessToken
import Contracts
import Crypto
import Foundation
import ServiceKit

/// How often somebody may try, so that no password is guessed by patience and nobody is sent messages without end, and
/// so that no stranger keeps a user out by trying instead of the user.
///
/// An attempt to sign in counts against the identifier together with the network that it comes from, and against the
/// identifier from everywhere. A device on which the account was signed in to before has an allowance of its own, which
/// nobody else can use up. Only wrong guesses count: what was right, or was never compared, is given back.
struct AttemptLimits: Sendable {
    /// `nil` in load tests alone.
    private let counter: (any AttemptCounter)?
    private let knownDevices: KnownDeviceStore
    private let key: SymmetricKey
    private let allMessages: AttemptAllowance

    /// Everything that is counted.
    static func allowances(messagesPerHour: Int) -> [AttemptAllowance] {
        AttemptPurpose.allCases.map(AttemptAllowance.address) + [
            .loginFromNetwork, .loginFromAnywhere, .loginOnKnownDevice, .passwordChange, .registration, .messages,
            .allMessages(perHour: messagesPerHour),
        ]
    }

    /// - Parameters:
    ///   - keys: those of the passwords' pepper. What is counted stands in Redis under names that cannot be found out
    ///     by trying: there are not many phone numbers.
    ///   - messagesPerHour: to everybody together.
    init(
        counter: (any AttemptCounter)?, knownDevices: KnownDeviceStore, keys: KeyRing, messagesPerHour: Int
    ) {
        self.counter = counter
        self.knownDevices = knownDevices
        key = keys.derived(for: "gatehouse identity attempts").current.secret
        allMessages = .allMessages(perHour: messagesPerHour)
    }

    /// What an attempt takes.
    private struct Charge {
        var allowance: AttemptAllowance
        /// Of what the allowance is, in parts.
        var subject: [String]
        /// Whether it is given back where no wrong guess was made.
        var isForWrongGuesses = true
    }

    private static func work(_ purpose: AttemptPurpose, from address: String) -> Charge {
        Charge(
            allowance: .address(purpose), subject: [ClientNetwork.subscriber(of: address)], isForWrongGuesses: false)
    }

    /// For what is no guess at anything that somebody could have thought of.
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

    /// - Throws: `RATE_LIMITED`.
    func admit(messageTo identifier: Identifier, from address: String) async throws(Problem) {
        try await take([
            // By the site: messages are few, and whoever has a site has 65,536 networks.
            Charge(allowance: .address(.forgot), subject: [ClientNetwork.site(of: address)]),
            Charge(allowance: .messages, subject: identifier.parts),
        ])
    }

    /// Runs `body`, which sends a message or finds that there is none to send.
    ///
    /// Messages cost the team money, so there is a total of those to everybody together. What counts is what is sent:
    /// nobody uses it up by asking for identifiers that have no account.
    /// - Parameter body: answers whether there was a message.
    /// - Throws: `RATE_LIMITED`, or what `body` throws; then nothing counts.
    func sending(_ body: () async throws -> Bool) async throws {
        let taken = try await take([Charge(allowance: allMessages, subject: [])])
        do {
            if try await !body() { await forgive(taken) }
        } catch {
            await forgive(taken)
            throw error
        }
    }

    /// Runs `body`, which finds out whether a password is that of the identifier's account.
    /// - Throws: `RATE_LIMITED`, or what `body` throws; its `INVALID_CREDENTIALS` is a wrong guess.
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
            let device = try await knownDevices.device(
                device?.installationId, of: identifier, deadline: deadline.forDatabase)
            guard let device else { throw refusal }
            let own = Charge(allowance: .loginOnKnownDevice, subject: [device.userID.uuidString, "\(device.id)"])
            taken = try await take([own])
        }
        return try await counting(taken, body)
    }

    /// The same for somebody who is signed in and has to show the password again.
    func guess<Value>(
        passwordOf userID: UUID, from address: String, _ body: () async throws -> Value
    ) async throws -> Value {
        let charges = [
            Self.work(.passwordChange, from: address),
            Charge(allowance: .passwordChange, subject: [userID.uuidString]),
        ]
        return try await counting(take(charges), body)
    }

    /// What was taken.
    private struct Taken {
        var charges: [Charge] = []
        var isShared = false
    }

    /// Takes them all, or none.
    @discardableResult
    private func take(_ charges: [Charge]) async throws(Problem) -> Taken {
        guard let counter else { return Taken() }
        switch await counter.take(charges.map(attempt)) {
        case .taken(let isShared): return Taken(charges: charges, isShared: isShared)
        case .refused(let wait): throw Problem(.rateLimited, retryAfter: max(1, Int(wait.components.seconds) + 1))
        }
    }

    private func counting<Value>(_ taken: Taken, _ body: () async throws -> Value) async throws -> Value {
        do {
            let value = try await body()
            await forgive(taken)
            return value
        } catch {
            if (error as? Problem)?.code != .invalidCredentials { await forgive(taken) }
            throw error
        }
    }

    private func forgive(_ taken: Taken) async {
        let forgiven = taken.charges.filter(\.isForWrongGuesses)
        guard let counter, !forgiven.isEmpty else { return }
        await counter.giveBack(forgiven.map(attempt), isShared: taken.isShared)
    }

    private func attempt(_ charge: Charge) -> Attempt {
        Attempt(allowance: charge.allowance, key: name(of: charge.subject))
    }

    /// What is counted in the place of the subject.
    private func name(of subject: [String]) -> String {
        // No part holds a NUL.
        let text = Data(subject.joined(separator: "\0").utf8)
        return Base64URL.string(HMAC<SHA256>.authenticationCode(for: text, using: key).prefix(16))
    }
}

extension Identifier {
    fileprivate var parts: [String] { [kind.rawValue, value] }
}
