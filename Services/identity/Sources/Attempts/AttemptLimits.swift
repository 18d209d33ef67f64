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
    /// Messages that waited for a budget, by the setting that raises it.
    let held: [String: Counter]

    /// Everything that is counted.
    static func allowances(budget: MessageBudget) -> [AttemptAllowance] {
        AttemptPurpose.allCases.map(AttemptAllowance.address) + [
            .loginFromNetwork, .loginFromAnywhere, .loginOnKnownDevice, .passwordChange, .registration,
            .codeMailsFromNetwork, .codeTextsFromNetwork, .codeFromNetwork, .codeFromAnywhere, .codeOnKnownDevice,
            .codeOnKnownDevices, .noticesForOne,
        ] + MessageAllowances.codes.all + MessageAllowances.resets.all + AttemptAllowance.messages(within: budget)
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
        let settings = Set(AttemptAllowance.messages(within: budget).compactMap(\.setting))
        held = Dictionary(
            uniqueKeysWithValues: settings.map { setting in
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

    func forgive(_ taken: Taken) async {
        let forgiven = taken.charges.filter(\.isForWrongGuesses)
        guard let counter, !forgiven.isEmpty else { return }
        await counter.refund(forgiven.map(attempt), cost: taken.cost, isShared: taken.isShared)
    }

    func allowance(_ allowance: AttemptAllowance) -> AttemptAllowance {
        overrides[allowance.name] ?? allowance
    }

    private func attempt(_ charge: Charge) -> Attempt {
        Attempt(allowance: allowance(charge.allowance), key: name(of: charge.subject))
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
