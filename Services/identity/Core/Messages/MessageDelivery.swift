package import Foundation
import GatehouseInstruments
import GatehouseServiceContracts
import Logging
package import Postgres
import Sealing

/// Sends messages, as a task of the outbox.
package struct MessageDelivery: Sendable {
    let queue: MessageQueue
    let identifiers: IdentifierStore
    package let forwarding: MailForwardingStore
    let limits: AttemptLimits
    let appName: String
    let logger: Logger
    private let outcomes = MessageMetrics()

    init(
        queue: MessageQueue, identifiers: IdentifierStore, limits: AttemptLimits, appName: String, logger: Logger
    ) {
        self.queue = queue
        self.identifiers = identifiers
        forwarding = MailForwardingStore(database: identifiers.database)
        self.limits = limits
        self.appName = appName
        self.logger = logger
    }

    var handlers: [OutboxHandler] {
        [
            OutboxHandler(MessageTask.self, for: .mail, .phone) { _, entry in
                try await deliver(entry)
                return .done
            }
        ]
    }

    private func deliver(_ entry: OutboxEntry) async throws {
        guard let envelope = queue.open(entry), let identifier = try? Identifier(envelope.to) else {
            // Sealed under a removed key.
            return logger.error("A message cannot be opened any more", metadata: ["id": "\(entry.id)"])
        }
        try await deliver(envelope, to: identifier, as: entry.id)
    }

    /// Sends a message, if it has not expired and the address may still receive mail.
    func deliver(_ envelope: MessageEnvelope, to identifier: Identifier, as id: UUID) async throws {
        guard envelope.expiresAt > .now else { return outcomes.count(.expired, identifier.kind) }
        if case .email(let address) = identifier {
            guard try await forwarding.mayReceiveMail(address) else {
                return outcomes.count(.unwanted, identifier.kind)
            }
        }
        let holder = try await identifiers.holder(of: identifier)
        let isAskerKnown = envelope.isAskerKnown ?? false
        try await limits.sending(
            envelope.kind, to: identifier, isKnown: holder != nil, isAskerKnown: isAskerKnown
        ) {
            try await send(envelope, to: identifier, of: holder, as: id)
        }
    }

    /// Records that a message has bounced, whether or not an account has the identifier.
    func bounced(from identifier: Identifier, _ status: BounceStatus?) async throws {
        if let holder = try await identifiers.holder(of: identifier) {
            try await AuditStore.record(
                .messageBounced, holder, by: .system, detail: status?.text, on: identifiers.database)
        }
        outcomes.count(.bounced, identifier.kind)
    }

    /// Sends a message now.
    /// - Parameters:
    ///   - holder: the user who has the identifier.
    ///   - id: identifies the message; the same at every retry.
    /// - Throws: when it has to be retried.
    package func send(_ envelope: MessageEnvelope, to identifier: Identifier, of holder: UUID?, as id: UUID)
        async throws
    {
        guard let sender = queue.senders[identifier.kind] else {
            return logger.error(
                "No sender is configured any more for a kind of message", metadata: ["kind": "\(identifier.kind)"])
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
                try await AuditStore.record(.messageRefused, holder, by: .system, on: identifiers.database)
            }
        } catch {
            outcomes.count(.failed, identifier.kind)
            throw error
        }
    }
}

extension OutboxTask {
    /// Sends the message that is sealed in the task's row.
    static func message(channel: Identifier.Kind) -> OutboxTask {
        OutboxTask(MessageTask(channel: channel), for: OutboxDestination(channel))
    }
}

struct MessageTask: OutboxPayload {
    static let kind = "message"
    static let key = "message"

    var channel: Identifier.Kind
}

extension AuditEvent {
    static let messageRefused = Self("message_refused")
    /// A message that was sent has bounced.
    static let messageBounced = Self("message_bounced")

    package static let ofMessages = [messageRefused, messageBounced]
}

extension AttemptLimits {
    /// Runs `body`, which sends a message with a code or a notice.
    /// - Parameters:
    ///   - isKnown: whether an account has the identifier.
    ///   - isAskerKnown: ``Admission/isAskerKnown``.
    /// - Throws: `RATE_LIMITED`, or what `body` throws; the charge is then refunded.
    func sending(
        _ kind: MessageKind, to identifier: Identifier, isKnown: Bool, isAskerKnown: Bool = false,
        _ body: () async throws -> Void
    ) async throws {
        let budgets: [Charge]
        if kind.isSecurityNotice {
            budgets = [
                Charge(allowance: .noticesForOne, subject: [kind.rawValue] + identifier.parts),
                Charge(
                    allowance: .allNotices(to: identifier.kind, withUndo: kind.undoesChange, within: budget),
                    subject: []),
            ]
        } else {
            budgets = self.budgets(forCodeTo: identifier, isKnown: isKnown, isAskerKnown: isAskerKnown)
        }
        try await sending(within: budgets) {
            try await body()
            return true
        }
    }
}

/// Puts messages into the outbox, in the transaction that they belong to.
package struct MessageQueue: Sendable {
    package let senders: MessageSenders
    let templates: MessageTemplates
    let sealer: Sealer
    /// The base address of links; `nil` where messages contain none.
    package let codeLink: URL?
    /// Calling codes of the countries to which text messages are sent; `nil`: all.
    let callingCodes: Set<String>?

    static let sealingPurpose = "gatehouse identity messages"

    /// - Throws: where messages to the identifier are never sent, whichever account has it.
    package func check(_ identifier: Identifier) throws(Refusal) {
        guard senders[identifier.kind] != nil else {
            throw Refusal(
                identifier.kind == .email
                    ? "No mail can be sent from here." : "No text messages can be sent from here.")
        }
        if case .phone(let number) = identifier, let callingCodes, !callingCodes.contains(number.callingCode) {
            throw Refusal("No text messages can be sent to numbers of this country.")
        }
    }

    /// - Parameter acceptLanguage: the client's header field.
    package func language(of acceptLanguage: String?) -> MessageLanguage {
        MessageLanguage.choose(acceptLanguage, of: templates.languages)
    }

    package func enqueue(_ message: MessageEnvelope, on database: some PostgresQuerying) async throws {
        let content = try JSONEncoder().encode(message)
        try await OutboxStore.enqueue(
            .message(channel: message.channel), user: nil, dueAtOnce: true, on: database,
            sealing: { try sealer.seal(content, context: Self.context(of: $0)) })
    }

    /// - Returns: `nil` where it can no longer be opened.
    func open(_ entry: OutboxEntry) -> MessageEnvelope? {
        guard let sealed = entry.sealed, let content = sealer.open(sealed, context: Self.context(of: entry.id)) else {
            return nil
        }
        let decoder = JSONDecoder()
        decoder.userInfo[MessageKind.known] = templates.kinds
        return try? decoder.decode(MessageEnvelope.self, from: content)
    }

    /// Binds the sealed message to its task.
    private static func context(of task: UUID) -> String {
        "message \(task.uuidString)"
    }
}

/// Outcomes of messages, by the kind of identifier that they were sent to.
struct MessageMetrics: Sendable {
    enum Outcome: String, CaseIterable {
        /// The next server or the team's sender has accepted it.
        case sent
        /// It was refused permanently.
        case refused
        /// It was sent, and has bounced.
        case bounced
        /// Sending failed, and will be retried.
        case failed
        /// It expired before it was sent.
        case expired
        /// Not sent, because mail to the address would be rejected now.
        case unwanted
    }

    private let counters: [String: Counter]

    init() {
        counters = Dictionary(
            uniqueKeysWithValues: Outcome.allCases.flatMap { outcome in
                Identifier.Kind.allCases.map { kind in
                    let counter = Counter(
                        "identity_messages_total", help: "Messages to users, by outcome.",
                        labels: [("channel", kind.rawValue), ("outcome", outcome.rawValue)])
                    return (outcome.rawValue + kind.rawValue, counter)
                }
            })
    }

    func count(_ outcome: Outcome, _ kind: Identifier.Kind) {
        counters[outcome.rawValue + kind.rawValue]?.increment()
    }
}
