import Bytes
import Contracts
import Crypto
import Foundation
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
    private let allMessages: AttemptAllowance
    let messageBudget: MessageBudget

    /// Everything that is counted.
    static func allowances(messagesPerHour: Int, messageBudget: MessageBudget) -> [AttemptAllowance] {
        AttemptPurpose.allCases.map(AttemptAllowance.address) + [
            .loginFromNetwork, .loginFromAnywhere, .loginOnKnownDevice, .passwordChange, .registration, .messages,
            .allMessages(perHour: messagesPerHour), .codeMailsFromNetwork, .codeTextsFromNetwork,
            .codesForOneFromNetwork, .codesForOne, .codesOnKnownDevice, .codeFromNetwork, .codeFromAnywhere,
            .codeOnKnownDevice,
        ] + AttemptAllowance.codes(within: messageBudget)
    }

    /// - Parameters:
    ///   - keys: those of the passwords' pepper. Redis keys hold an HMAC under one derived from them, since a plain hash
    ///     of a phone number would be found by hashing all phone numbers.
    ///   - messagesPerHour: how many messages for new passwords are sent to all users together.
    ///   - messageBudget: how many messages with codes.
    init(
        counter: (any AttemptCounter)?, knownDevices: any DeviceRecognition, keys: KeyRing, messagesPerHour: Int,
        messageBudget: MessageBudget = MessageBudget()
    ) {
        self.counter = counter
        self.knownDevices = knownDevices
        key = keys.derived(for: "gatehouse identity attempts").current.secret
        allMessages = .allMessages(perHour: messagesPerHour)
        self.messageBudget = messageBudget
    }

    /// What an attempt takes from one allowance.
    struct Charge {
        var allowance: AttemptAllowance
        /// Whose attempts the allowance counts, in parts.
        var subject: [String]
        /// Whether it is given back unless a wrong password was tried.
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

    /// - Throws: `RATE_LIMITED`.
    func admit(messageTo identifier: Identifier, from address: String) async throws(Problem) {
        try await take([
            // Counted by the site, not by the /64: a site has 65,536 of these, and few messages are allowed.
            Charge(allowance: .address(.forgot), subject: [ClientNetwork.site(of: address)]),
            Charge(allowance: .messages, subject: identifier.parts),
        ])
    }

    /// Runs `body`, which sends a message or finds that there is none to send.
    ///
    /// Messages cost the team money, so the total to all users is limited. Only messages that are sent count: nobody
    /// uses the total up by asking for identifiers that have no account.
    /// - Parameters:
    ///   - number: where Gatehouse itself sends a text message.
    ///   - body: returns whether it has sent a message.
    /// - Throws: `RATE_LIMITED`, or what `body` throws; then nothing counts.
    func sending(to number: PhoneNumber? = nil, _ body: () async throws -> Bool) async throws {
        let texts = number.map { charges(forTextTo: $0) } ?? []
        let taken = try await take([Charge(allowance: allMessages, subject: [])] + texts)
        do {
            if try await !body() { await forgive(taken) }
        } catch {
            await forgive(taken)
            throw error
        }
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
        var isShared = false
    }

    /// Takes them all, or none.
    @discardableResult
    func take(_ charges: [Charge]) async throws(Problem) -> Taken {
        guard let counter else { return Taken() }
        switch await counter.take(charges.map(attempt)) {
        case .taken(let isShared): return Taken(charges: charges, isShared: isShared)
        case .refused(let wait): throw Problem(.rateLimited, retryAfter: max(1, Int(wait.components.seconds) + 1))
        }
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
        await counter.giveBack(forgiven.map(attempt), isShared: taken.isShared)
    }

    private func attempt(_ charge: Charge) -> Attempt {
        Attempt(allowance: charge.allowance, key: name(of: charge.subject))
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
