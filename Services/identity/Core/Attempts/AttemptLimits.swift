import Crypto
package import Foundation
import GatehouseBytes
import GatehouseInstruments
package import GatehouseServiceContracts
import GatehouseServiceKit
import Sealing

/// Limits attempts to sign in and to register, and requests for messages. The limits prevent an attacker from guessing
/// passwords, and from locking the user out.
///
/// A sign-in attempt counts for the identifier from one network, and for the identifier from all networks. A device on
/// which the user has signed in before has its own allowance, which other parties cannot use up. In these limits only
/// wrong passwords and codes count: an attempt is refunded if its password or code was right or was never compared. In
/// the limit of an address every request counts.
package struct AttemptLimits: Sendable {
    /// `nil`: nothing is counted, for load tests only.
    private let counter: (any AttemptCounter)?
    let knownDevices: any DeviceRecognition
    private let key: SymmetricKey
    let budget: MessageBudget
    private let overrides: [String: AttemptAllowance]
    /// Counts messages that had to wait for a budget, by the setting that raises it.
    let held: [String: Counter]

    /// All allowances.
    static func allowances(budget: MessageBudget) -> [AttemptAllowance] {
        AttemptPurpose.allCases.map(AttemptAllowance.address) + [
            .loginFromNetwork, .loginFromAnywhere, .loginOnKnownDevice, .passwordChange, .registration,
            .codeMailsFromNetwork, .codeTextsFromNetwork, .codeFromNetwork, .codeFromAnywhere, .codeOnKnownDevice,
            .codeOnKnownDevices, .noticesForOne, .testPushes,
        ] + MessageAllowances.codes.all + MessageAllowances.resets.all + AttemptAllowance.messages(within: budget)
    }

    /// - Parameters:
    ///   - keys: the keys of the passwords' pepper. Redis keys contain an HMAC under a key derived from them. A plain
    ///     hash of a phone number could be reversed by hashing all phone numbers.
    ///   - budget: how many messages are sent to all users together.
    ///   - overrides: allowances that replace those with the same name.
    init(
        counter: (any AttemptCounter)?, knownDevices: any DeviceRecognition, keys: KeyRing,
        budget: MessageBudget = MessageBudget(), overrides: [String: AttemptAllowance] = [:],
        metrics: (any MetricsFactory)? = nil
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
                return (
                    setting,
                    Counter(
                        "identity_messages_held_total", help: help, labels: [("setting", setting)], factory: metrics)
                )
            })
    }

    /// The part of an attempt that is charged to one allowance.
    struct Charge {
        var allowance: AttemptAllowance
        /// The subject that the allowance counts attempts for, in parts.
        var subject: [String]
        /// Whether the charge is refunded unless a wrong password or code was tried.
        var isForWrongGuesses = true
    }

    static func work(_ purpose: AttemptPurpose, from address: String) -> Charge {
        Charge(
            allowance: .address(purpose), subject: [ClientNetwork.subscriber(of: address)], isForWrongGuesses: false)
    }

    /// For requests that try no password.
    /// - Throws: `RATE_LIMITED`.
    package func admit(_ purpose: AttemptPurpose, from address: String) async throws(Problem) {
        try await take([Self.work(purpose, from: address)])
    }

    /// - Throws: `RATE_LIMITED`.
    package func admit(registrationOf identifier: Identifier, from address: String) async throws(Problem) {
        try await take([
            Self.work(.register, from: address),
            Charge(allowance: .registration, subject: identifier.parts + [ClientNetwork.site(of: address)]),
        ])
    }

    /// - Throws: `RATE_LIMITED`.
    package func admit(testPushOf userID: UUID) async throws(Problem) {
        try await take([Charge(allowance: .testPushes, subject: [userID.path], isForWrongGuesses: false)])
    }

    /// The charges that an attempt has taken.
    struct Taken {
        var charges: [Charge] = []
        var cost = 1
        var isShared = false
    }

    /// Takes all charges, or none.
    /// - Parameter cost: how often each charge counts.
    @discardableResult
    func take(_ charges: [Charge], cost: Int = 1) async throws(Problem) -> Taken {
        guard let counter else { return Taken() }
        switch await counter.take(charges.map(attempt), cost: cost) {
        case .taken(let isShared): return Taken(charges: charges, cost: cost, isShared: isShared)
        case .refused(let wait): throw Problem(.rateLimited, retryAfter: max(1, Int(wait.components.seconds) + 1))
        }
    }

    func refund(_ taken: Taken) async {
        let refunded = taken.charges.filter(\.isForWrongGuesses)
        guard let counter, !refunded.isEmpty else { return }
        await counter.refund(refunded.map(attempt), cost: taken.cost, isShared: taken.isShared)
    }

    func allowance(_ allowance: AttemptAllowance) -> AttemptAllowance {
        overrides[allowance.name] ?? allowance
    }

    private func attempt(_ charge: Charge) -> Attempt {
        Attempt(allowance: allowance(charge.allowance), key: name(of: charge.subject))
    }

    /// The subject's HMAC, which replaces it in Redis.
    private func name(of subject: [String]) -> String {
        // No part contains a NUL, so two subjects never produce the same text.
        let text = Data(subject.joined(separator: "\0").utf8)
        return Base64URL.string(HMAC<SHA256>.authenticationCode(for: text, using: key).prefix(16))
    }
}

extension Identifier {
    var parts: [String] { [kind.rawValue, value] }
}
