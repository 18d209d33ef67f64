import Contracts
import Foundation
import Postgres
import Sealing

/// Where whoever needs a message sent puts it: into the outbox, in the transaction that it belongs to.
struct MessageQueue: Sendable {
    let senders: MessageSenders
    let templates: MessageTemplates
    let sealer: Sealer
    /// Where links lead; `nil` where messages hold none.
    let codeLink: URL?
    /// Calling codes of the countries to which text messages are sent; `nil`: all.
    let callingCodes: Set<String>?

    static let sealingPurpose = "gatehouse identity messages"

    /// - Throws: where messages to the identifier are never sent, whoever has it.
    func check(_ identifier: Identifier) throws(Refusal) {
        guard senders[identifier.kind] != nil else {
            throw Refusal(
                identifier.kind == .email
                    ? "No mail can be sent from here." : "No text messages can be sent from here.")
        }
        if case .phone(let number) = identifier, let callingCodes, !callingCodes.contains(number.callingCode) {
            throw Refusal("No text messages can be sent to numbers of this country.")
        }
    }

    /// - Parameter acceptLanguage: a client's field.
    func language(of acceptLanguage: String?) -> MessageLanguage {
        MessageLanguage.choose(acceptLanguage, of: templates.languages)
    }

    func message(with code: CodeStore.New, language: MessageLanguage) -> MessageEnvelope {
        var values: [MessagePlaceholder: String] = [.code: code.code.digits]
        // Behind the #, since what stands there is not sent to servers and so in no log of theirs.
        values[.link] = codeLink.map { "\($0.absoluteString)#\(code.link.text)" }
        return MessageEnvelope(
            .of(code.purpose), to: code.identifier, language: language, values: values,
            expiresAt: Date.now.addingTimeInterval(Double(CodeRules.lifetime)))
    }

    func enqueue(_ message: MessageEnvelope, on database: some PostgresQuerying) async throws {
        let content = try JSONEncoder().encode(message)
        try await OutboxStore.enqueue(
            .message(channel: message.channel), user: nil, dueAtOnce: true, on: database,
            sealing: { try sealer.seal(content, context: Self.context(of: $0)) })
    }

    /// - Returns: `nil` where it cannot be opened any more.
    func open(_ entry: OutboxEntry) -> MessageEnvelope? {
        guard let sealed = entry.sealed, let content = sealer.open(sealed, context: Self.context(of: entry.id)) else {
            return nil
        }
        return try? JSONDecoder().decode(MessageEnvelope.self, from: content)
    }

    /// Binds what is sealed to its task.
    private static func context(of task: UUID) -> String {
        "message \(task.uuidString)"
    }
}
