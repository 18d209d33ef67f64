import AsyncHTTPClient
import Contracts
import Foundation
import Logging
import NIOCore

/// Who sends to which kind of identifier; `nil` where nobody does.
struct MessageSenders: Sendable {
    var mail: (any MessageSender)?
    var phone: (any MessageSender)?

    subscript(kind: Identifier.Kind) -> (any MessageSender)? {
        switch kind {
        case .email: mail
        case .phone: phone
        }
    }

    /// Those to which somebody sends.
    var kinds: Set<Identifier.Kind> { Set(Identifier.Kind.allCases.filter { self[$0] != nil }) }
}

extension MessageSenders {
    /// Mail goes to the mail server; whatever has no sender of its own goes to the team's hook, or in development into a
    /// folder.
    init(
        _ configuration: MessageConfiguration, httpClient: HTTPClient, eventLoopGroup: any EventLoopGroup,
        logger: Logger
    ) {
        let folder: (any MessageSender)? = configuration.folder.map { MessageFolder(url: $0, logger: logger) }
        let hook: (any MessageSender)? = configuration.hook.map {
            MessageHook(httpClient: httpClient, url: $0.url, secret: $0.secret)
        }
        let server: (any MessageSender)? = configuration.smtp.map {
            SMTPSender(settings: $0, eventLoopGroup: eventLoopGroup)
        }
        phone = hook ?? folder
        mail = server ?? hook ?? folder
    }
}

/// Whoever takes a message to where an identifier leads.
protocol MessageSender: Sendable {
    /// Returns when somebody else has taken the message over for good.
    /// - Throws: ``MessageRefused`` where it will never be taken; any other error where it may be, later.
    func send(_ message: OutgoingMessage) async throws
}

/// The team's own sender of mail and text messages, told over HTTP.
struct MessageHook: MessageSender {
    let httpClient: HTTPClient
    let url: URL
    /// Signs what is sent: only who has it can have written it.
    let secret: String

    /// Statuses by which the sender says that it will never take this message.
    private static let finalStatuses: Set<Int> = [410, 422]

    func send(_ message: OutgoingMessage) async throws {
        let isMail = message.to.kind == .email
        let body = Array(
            try JSON.encode(
                HookedMessage(
                    id: message.id, channel: message.to.kind.rawValue, to: message.to.value,
                    kind: message.kind.rawValue, language: message.language.code,
                    subject: isMail ? message.text.subject : nil,
                    text: isMail ? message.text.text : message.text.short, code: message.values[.code],
                    link: message.values[.link], expiresAt: message.expiresAt)))
        do {
            try await httpClient.post(
                body, toHook: url, HookSignature.header, HookSignature.value(of: body, at: Date.now, secret: secret),
                timeout: .seconds(8))
        } catch let refusal as HookRefused where Self.finalStatuses.contains(refusal.status) {
            throw MessageRefused(reason: "the hook says \(refusal.status)")
        }
    }
}

/// Writes messages into a folder instead of sending them, in development.
struct MessageFolder: MessageSender {
    let url: URL
    let logger: Logger

    func send(_ message: OutgoingMessage) async throws {
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        // Named by time, so that the newest is the last.
        let time = String(format: "%.3f", Date.now.timeIntervalSince1970)
        let file = url.appending(path: "\(time)-\(message.kind.rawValue)-\(message.id.uuidString.lowercased()).txt")
        let content =
            switch message.to.kind {
            case .email: "To: \(message.to.value)\nSubject: \(message.text.subject)\n\n\(message.text.text)"
            case .phone: "To: \(message.to.value)\n\n\(message.text.short)\n"
            }
        try Data(content.utf8).write(to: file, options: .atomic)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path())
        logger.info("A message was written into a file", metadata: ["file": "\(file.path())"])
    }
}

/// A message that waits in the outbox, sealed: it holds a code, and where that goes.
struct MessageEnvelope: Codable, Sendable {
    var kind: MessageKind
    var channel: Identifier.Kind
    /// An identifier's value.
    var to: String
    /// A code of a language. It was chosen when the message was asked for, since nobody is there to ask when it is sent.
    var language: String
    var values: [String: String]
    var expiresAt: Date
    /// ``AttemptLimits/Admission/isAskerKnown``; `nil` in messages of older versions.
    var isAskerKnown: Bool?

    /// - Parameter values: all but those that every message has.
    init(
        _ kind: MessageKind, to identifier: Identifier, language: MessageLanguage,
        values: [MessagePlaceholder: String], expiresAt: Date
    ) {
        self.kind = kind
        channel = identifier.kind
        to = identifier.value
        self.language = language.code
        self.values = Dictionary(uniqueKeysWithValues: values.map { ($0.rawValue, $1) })
        self.expiresAt = expiresAt
    }

    var placeholders: [MessagePlaceholder: String] {
        Dictionary(
            uniqueKeysWithValues: values.compactMap { name, value in
                MessagePlaceholder(rawValue: name).map { ($0, value) }
            })
    }
}

/// A message that will never be taken, however often it is sent.
struct MessageRefused: Error, CustomStringConvertible {
    /// As the other side gave it: for the log, without what the message holds.
    var reason: String

    var description: String { reason }
}
