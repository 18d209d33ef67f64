import Foundation
import Logging
import Postgres

/// Sends messages, as a task of the outbox.
struct MessageDelivery: Sendable {
    let queue: MessageQueue
    let passwords: PasswordStore
    let mail: AppleMailStore
    let limits: AttemptLimits
    let appName: String
    let logger: Logger
    private let outcomes = MessageMetrics()

    init(
        queue: MessageQueue, passwords: PasswordStore, mail: AppleMailStore, limits: AttemptLimits, appName: String,
        logger: Logger
    ) {
        self.queue = queue
        self.mail = mail
        self.passwords = passwords
        self.limits = limits
        self.appName = appName
        self.logger = logger
    }

    func deliver(_ entry: OutboxEntry) async throws {
        guard let envelope = queue.open(entry), let identifier = try? Identifier(envelope.to) else {
            // Sealed under a key that is gone.
            return logger.error("A message cannot be opened any more", metadata: ["id": "\(entry.id)"])
        }
        try await deliver(envelope, to: identifier, as: entry.id)
    }

    /// Sends a message, if it is still of use and anybody wants it.
    func deliver(_ envelope: MessageEnvelope, to identifier: Identifier, as id: UUID) async throws {
        guard envelope.expiresAt > .now else { return outcomes.count(.expired, identifier.kind) }
        if case .email(let address) = identifier {
            let isWanted = try await mail.mayReceiveMail(address, deadline: .now + .seconds(5))
            guard isWanted else { return outcomes.count(.unwanted, identifier.kind) }
        }
        let holder = try await passwords.account(identifiedBy: identifier, deadline: .now + .seconds(5))?.account.id
        try await limits.sending(envelope.kind, to: identifier, isKnown: holder != nil) {
            try await send(envelope, to: identifier, of: holder, as: id)
        }
    }

    /// Notes that a message has come back, whoever it was to.
    func bounced(
        from identifier: Identifier, _ status: BounceStatus?, deadline: ContinuousClock.Instant
    ) async throws {
        if let holder = try await passwords.account(identifiedBy: identifier, deadline: deadline)?.account.id {
            try await AuditLog.record(
                .messageBounced, holder, by: .system, detail: status?.text, on: passwords.database, deadline: deadline)
        }
        outcomes.count(.bounced, identifier.kind)
    }

    /// Sends a message now.
    /// - Parameters:
    ///   - holder: whose the identifier is.
    ///   - id: names the message, the same at every attempt.
    /// - Throws: when it has to be tried again.
    func send(_ envelope: MessageEnvelope, to identifier: Identifier, of holder: UUID?, as id: UUID) async throws {
        guard let sender = queue.senders[identifier.kind] else {
            return logger.error("Nobody sends messages of a kind any more", metadata: ["kind": "\(identifier.kind)"])
        }
        let (template, language) = queue.templates.template(
            of: envelope.kind, in: MessageLanguage(envelope.language) ?? .english)
        var values = envelope.placeholders
        values[.app] = appName
        let left = envelope.expiresAt.timeIntervalSinceNow
        values[.minutes] = String(max(1, Int((left / 60).rounded())))
        values[.days] = String(max(1, Int((left / 86_400).rounded())))
        let message = OutgoingMessage(
            id: id, kind: envelope.kind, to: identifier, language: language, text: template.filled(with: values),
            values: values, expiresAt: envelope.expiresAt)
        do {
            try await sender.send(message)
            outcomes.count(.sent, identifier.kind)
        } catch let refusal as MessageRefused {
            outcomes.count(.refused, identifier.kind)
            logger.warning(
                "A message was refused for good",
                metadata: ["id": "\(id)", "kind": "\(envelope.kind)", "reason": "\(refusal)"])
            if let holder {
                try await AuditLog.record(.messageRefused, holder, by: .system, on: passwords.database)
            }
        } catch {
            outcomes.count(.failed, identifier.kind)
            throw error
        }
    }
}
