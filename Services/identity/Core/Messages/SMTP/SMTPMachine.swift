import Foundation

/// The client side of an SMTP dialogue that submits one message (RFC 5321, 3207, 4954, 6531): a state machine over the
/// server's replies.
struct SMTPDialogue: Sendable {
    enum Security: Sendable, Equatable {
        /// TLS from the first byte (RFC 8314).
        case implicit
        /// TLS before any confidential data is sent (RFC 3207). If the server does not offer it, nothing is sent.
        case startTLS
        /// For a server on the same machine.
        case none
    }

    struct Envelope: Sendable, Equatable {
        var sender: String
        var recipient: String
    }

    enum Step: Sendable, Equatable {
        case say(String)
        /// Sent before the connection is protected. Everything that the server said before that is discarded.
        case sayAndStartTLS(String)
        case sendContent
        /// The server has accepted the message.
        case accepted
    }

    private enum State: Sendable {
        case greeting, hello, tls, user, password, login, sender, recipient, data, content, done
    }

    let security: Security
    /// This client's own name.
    let name: String
    let login: SMTPLogin?
    let envelope: Envelope
    private var state = State.greeting
    private var isProtected: Bool
    private var extensions: [String: Set<String>] = [:]

    init(security: Security, name: String, login: SMTPLogin?, envelope: Envelope) {
        self.security = security
        self.name = name
        self.login = login
        self.envelope = envelope
        isProtected = security == .implicit
    }

    /// - Throws: ``SMTPFailure``.
    mutating func receive(_ reply: SMTPReply) throws(SMTPFailure) -> Step {
        switch state {
        case .greeting:
            try expect(220, reply)
            return hello()
        case .hello:
            try expect(250, reply)
            extensions = Self.extensions(in: reply)
            return try afterHello()
        case .tls:
            try expect(220, reply)
            isProtected = true
            // An attacker may have changed the unencrypted list of extensions.
            extensions = [:]
            return hello()
        case .user:
            try expect(334, reply)
            state = .password
            return .say(login?.userBase64 ?? "")
        case .password:
            try expect(334, reply)
            state = .login
            return .say(login?.passwordBase64 ?? "")
        case .login:
            try expect(235, reply)
            return try sender()
        case .sender:
            try expect(250, reply)
            state = .recipient
            return .say("RCPT TO:<\(envelope.recipient)>")
        case .recipient:
            guard [250, 251].contains(reply.code) else { throw refusal(reply) }
            state = .data
            return .say("DATA")
        case .data:
            guard reply.code == 354 else { throw refusal(reply) }
            state = .content
            return .sendContent
        case .content:
            guard reply.code == 250 else { throw refusal(reply) }
            state = .done
            return .accepted
        case .done:
            throw SMTPFailure(reason: "the server sent a reply without a command", isFinal: false)
        }
    }

    private mutating func hello() -> Step {
        state = .hello
        return .say("EHLO \(name)")
    }

    private mutating func afterHello() throws(SMTPFailure) -> Step {
        if security == .startTLS, !isProtected {
            guard extensions["STARTTLS"] != nil else {
                throw SMTPFailure(reason: "the server does not offer STARTTLS", isFinal: false)
            }
            state = .tls
            return .sayAndStartTLS("STARTTLS")
        }
        guard let login else { return try sender() }
        let mechanisms = extensions["AUTH"] ?? []
        if mechanisms.contains("PLAIN") {
            state = .login
            return .say("AUTH PLAIN \(login.plain)")
        }
        guard mechanisms.contains("LOGIN") else {
            throw SMTPFailure(reason: "the server offers neither AUTH PLAIN nor AUTH LOGIN", isFinal: false)
        }
        state = .user
        return .say("AUTH LOGIN")
    }

    private mutating func sender() throws(SMTPFailure) -> Step {
        var parameters = ""
        if !(envelope.sender + envelope.recipient).utf8.allSatisfy({ $0 < 0x80 }) {
            guard extensions["SMTPUTF8"] != nil else {
                throw SMTPFailure(reason: "the server does not offer SMTPUTF8, which the address needs", isFinal: true)
            }
            parameters = " SMTPUTF8"
        }
        state = .sender
        return .say("MAIL FROM:<\(envelope.sender)>\(parameters)")
    }

    /// Before the recipient is named, a refusal does not concern this message.
    private func expect(_ code: Int, _ reply: SMTPReply) throws(SMTPFailure) {
        if reply.code != code { throw SMTPFailure(reason: reply.text, isFinal: false) }
    }

    /// RFC 5321 §4.2.1: 5yz is final, 4yz is not.
    private func refusal(_ reply: SMTPReply) -> SMTPFailure {
        SMTPFailure(reason: reply.text, isFinal: reply.code >= 500)
    }

    /// The server's extensions, by keyword in upper case.
    private static func extensions(in reply: SMTPReply) -> [String: Set<String>] {
        var extensions: [String: Set<String>] = [:]
        for line in reply.lines.dropFirst() {
            let words = line.uppercased().split(separator: " ").map(String.init)
            if let keyword = words.first { extensions[keyword, default: []].formUnion(words.dropFirst()) }
        }
        return extensions
    }
}

/// A reply of an SMTP server to a command (RFC 5321 §4.2).
struct SMTPReply: Sendable, Equatable {
    var code: Int
    /// The text after the code, line by line.
    var lines: [String]

    /// The longest line in bytes, and the most lines of a reply, that are read. RFC 5321 §4.5.3.1.5 requires 512.
    static let longestLine = 2048
    static let mostLines = 128

    struct Malformed: Error {}

    /// Collects the lines of a reply.
    struct Reader: Sendable {
        private var code: Int?
        private var lines: [String] = []

        /// - Parameter line: without its line break.
        /// - Returns: the complete reply, if this line ends it.
        mutating func read(_ line: [UInt8]) throws(Malformed) -> SMTPReply? {
            guard line.count >= 3, line.count <= SMTPReply.longestLine, lines.count < SMTPReply.mostLines,
                let code = Int(String(decoding: line.prefix(3), as: UTF8.self)), (200...599).contains(code),
                self.code == nil || self.code == code
            else { throw Malformed() }
            let isLast = line.count == 3 || line[3] != UInt8(ascii: "-")
            lines.append(String(decoding: line.dropFirst(4), as: UTF8.self))
            guard isLast else {
                self.code = code
                return nil
            }
            defer { self = Reader() }
            return SMTPReply(code: code, lines: lines)
        }
    }

    /// For a log: without control characters, which a terminal would interpret.
    var text: String {
        let words = ([String(code)] + lines).joined(separator: " ").unicodeScalars.map {
            $0.properties.generalCategory == .control ? " " : String($0)
        }
        return String(words.joined().prefix(200))
    }
}

/// The name and password for submitting mail (RFC 4954).
struct SMTPLogin: Sendable, Equatable {
    var user: String
    var password: String

    /// RFC 4616.
    var plain: String { Data("\0\(user)\0\(password)".utf8).base64EncodedString() }
    var userBase64: String { Data(user.utf8).base64EncodedString() }
    var passwordBase64: String { Data(password.utf8).base64EncodedString() }
}

/// Why a message was not accepted.
struct SMTPFailure: Error, Equatable, CustomStringConvertible {
    var reason: String
    /// Whether the message is refused permanently. A server that is unavailable, full or misconfigured may accept it
    /// later.
    var isFinal: Bool

    var description: String { reason }
}
