import AsyncHTTPClient
package import Foundation
import GatehouseServiceContracts
import Logging
import NIOCore

/// The sender for each kind of identifier; `nil` where none is configured.
package struct MessageSenders: Sendable {
    var mail: (any MessageSender)?
    var phone: (any MessageSender)?

    package subscript(kind: Identifier.Kind) -> (any MessageSender)? {
        switch kind {
        case .email: mail
        case .phone: phone
        }
    }

    /// The kinds that have a sender.
    package var kinds: Set<Identifier.Kind> { Set(Identifier.Kind.allCases.filter { self[$0] != nil }) }
}

extension MessageSenders {
    /// Mail goes to the mail server. Messages without a sender of their own go to the team's hook or, in development,
    /// into a folder.
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

/// Sends a message to an identifier.
package protocol MessageSender: Sendable {
    /// Returns when the receiving server or system has accepted the message.
    /// - Throws: ``MessageRefused`` where the message is refused permanently; any other error where a retry may
    ///   succeed.
    func send(_ message: OutgoingMessage) async throws
}

/// The team's own sender of mail and text messages, called over HTTP.
struct MessageHook: MessageSender {
    let httpClient: HTTPClient
    let url: URL
    /// Signs the request, so that the receiver can verify that it is from Gatehouse.
    let secret: String

    /// Statuses with which the sender refuses this message permanently.
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
        // Named by time, so that the newest file sorts last.
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

/// A message that waits in the outbox. It is sealed, because it contains a code and the identifier that it goes to.
package struct MessageEnvelope: Codable, Sendable {
    var kind: MessageKind
    var channel: Identifier.Kind
    /// An identifier's value.
    var to: String
    /// A language code. It is chosen when the message is requested, because no client is connected when it is sent.
    var language: String
    var values: [String: String]
    var expiresAt: Date
    /// ``AttemptLimits/Admission/isAskerKnown``; `nil` in messages of older versions.
    package var isAskerKnown: Bool?

    /// - Parameter values: all values except those that every message has.
    package init(
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

/// A message that was refused permanently. Retries are useless.
struct MessageRefused: Error, CustomStringConvertible {
    /// The reason that the receiver gave, for the log, without the message's content.
    var reason: String

    var description: String { reason }
}
