import Foundation
import GatehouseLimits
import GatehouseServiceContracts
import GatehouseServiceKit
import GatehouseSettings
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// Submits mail to an SMTP server, each mail on its own connection.
struct SMTPSender: MessageSender {
    let settings: SMTPSettings
    let eventLoopGroup: any EventLoopGroup
    /// For the whole exchange. It is shorter than the claim of an outbox task, so that no other process sends the mail
    /// too.
    var timeout = Duration.seconds(10)

    private typealias Connection = NIOAsyncChannel<SMTPReply, SMTPOutput>

    func send(_ message: OutgoingMessage) async throws {
        let content = MailContent(message, from: settings.author, date: Int64(Date.now.timeIntervalSince1970))
        let dialogue = SMTPDialogue(
            security: settings.security, name: settings.author.domain, login: settings.login,
            envelope: .init(sender: settings.author.address.value, recipient: message.to.value))
        // Once the server has accepted the mail, a failing `QUIT` must not cause a retry.
        let isAccepted = Accepted()
        do {
            try await Deadline.after(timeout).run {
                try await connect().executeThenClose { replies, output in
                    try await Self.converse(dialogue, content, replies, output, isAccepted)
                }
            }
        } catch {
            if isAccepted.value { return }
            if let failure = error as? SMTPFailure, failure.isFinal { throw MessageRefused(reason: failure.reason) }
            throw error
        }
    }

    private static func converse(
        _ dialogue: SMTPDialogue, _ content: MailContent, _ replies: NIOAsyncChannelInboundStream<SMTPReply>,
        _ output: NIOAsyncChannelOutboundWriter<SMTPOutput>, _ isAccepted: Accepted
    ) async throws {
        var dialogue = dialogue
        func line(_ text: String) -> ByteBuffer { ByteBuffer(string: text + "\r\n") }
        for try await reply in replies {
            switch try dialogue.receive(reply) {
            case .say(let text): try await output.write(.bytes(line(text)))
            case .sayAndStartTLS(let text): try await output.write(.startTLS(line(text)))
            case .sendContent: try await output.write(.bytes(ByteBuffer(bytes: MailContent.stuffed(content.bytes))))
            case .accepted:
                isAccepted.set()
                try await output.write(.bytes(line("QUIT")))
                return
            }
        }
        throw SMTPFailure(reason: "the server has closed the connection", isFinal: false)
    }

    private func connect() async throws -> Connection {
        let (tls, host, security) = (settings.tls, settings.host, settings.security)
        return try await ClientBootstrap(group: eventLoopGroup).connectTimeout(.seconds(5))
            .connect(host: host, port: settings.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if security == .implicit, let tls = try Self.handler(tls, host) { try pipeline.addHandler(tls) }
                    try pipeline.addHandler(SMTPReplyHandler { try Self.handler(tls, host) })
                    return try Connection(wrappingChannelSynchronously: channel)
                }
            }
    }

    private static func handler(_ tls: NIOSSLContext?, _ host: String) throws -> NIOSSLClientHandler? {
        guard let tls else { return nil }
        // An IP address is not sent as the TLS server name. The certificate is then verified for the address.
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        return try NIOSSLClientHandler(context: tls, serverHostname: isAddress ? nil : host)
    }

    /// Whether the server has accepted the mail.
    private final class Accepted: Sendable {
        private let state = Mutex(false)

        var value: Bool { state.withLock { $0 } }

        func set() { state.withLock { $0 = true } }
    }
}

/// Output to the server.
enum SMTPOutput: Sendable {
    case bytes(ByteBuffer)
    /// Once the server has agreed, the connection is protected before another byte is read.
    case startTLS(ByteBuffer)
}

/// Reads replies, line by line, and starts TLS when the server has agreed to it. It belongs to one event loop.
final class SMTPReplyHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = SMTPReply
    typealias OutboundIn = SMTPOutput
    typealias OutboundOut = ByteBuffer

    private let makeTLS: () throws -> NIOSSLClientHandler?
    private var reader = SMTPReply.Reader()
    private var line: [UInt8] = []
    private var isStartingTLS = false

    /// - Parameter makeTLS: returns `nil` where TLS is not used.
    init(makeTLS: @escaping () throws -> NIOSSLClientHandler?) {
        self.makeTLS = makeTLS
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        do {
            while let byte = buffer.readInteger(as: UInt8.self) {
                guard byte == UInt8(ascii: "\n") else {
                    line.append(byte)
                    guard line.count <= SMTPReply.longestLine else { throw SMTPReply.Malformed() }
                    continue
                }
                if line.last == UInt8(ascii: "\r") { line.removeLast() }
                let reply = try reader.read(line)
                line = []
                guard let reply else { continue }
                guard isStartingTLS, reply.code == 220 else {
                    isStartingTLS = false
                    context.fireChannelRead(wrapInboundOut(reply))
                    continue
                }
                isStartingTLS = false
                // Unencrypted bytes after the reply may have been injected by an attacker.
                guard buffer.readableBytes == 0, let tls = try makeTLS() else { throw SMTPReply.Malformed() }
                try context.pipeline.syncOperations.addHandler(tls, position: .first)
                context.fireChannelRead(wrapInboundOut(reply))
                // The event that follows this read does not pass the new handler, which has no data yet.
                context.fireChannelReadComplete()
            }
        } catch {
            context.fireErrorCaught(error)
            context.close(promise: nil)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .bytes(let bytes):
            context.write(wrapOutboundOut(bytes), promise: promise)
        case .startTLS(let bytes):
            isStartingTLS = true
            context.write(wrapOutboundOut(bytes), promise: promise)
        }
    }
}

/// The mail server, the login and the sender of mails.
struct SMTPSettings: Sendable {
    var host: String
    var port: Int
    var security: SMTPDialogue.Security
    var login: SMTPLogin?
    var author: MailAuthor
    /// `nil` without TLS.
    var tls: NIOSSLContext?

    /// Reads `smtpURL`, `smtpFrom` and `smtpAuthoritiesFile`, and reports problems to `settings`.
    /// - Returns: `nil` where no mail server is configured, or a setting is invalid.
    static func read(_ settings: Settings) -> SMTPSettings? {
        let url = settings.optionalString(
            "smtpURL", secret: true,
            """
            mail server: `smtps://USER:PASSWORD@HOST:PORT` (465), `smtp://…` with STARTTLS (587), `smtp+plain://…` for a \
            server on this machine (25). User and password percent-encoded
            """)
        let from = settings.optionalString(
            "smtpFrom", "sender of mails: `Shop <no-reply@example.com>`. Required with `IDENTITY_SMTP_URL`")
        let authorities = settings.optionalFile(
            "smtpAuthoritiesFile", "PEM authorities for the mail server's certificate. Without it, the system's")
        guard let url else {
            if from != nil { settings.problem("smtpFrom", "is set, but smtpURL is not") }
            return nil
        }
        guard let from else {
            settings.problem("smtpFrom", "is not set, but smtpURL is")
            return nil
        }
        guard let place = settings.read("smtpURL", from: url, { try Place($0) }),
            let author = settings.read("smtpFrom", from: from, { try MailAuthor($0) })
        else { return nil }
        var tls: NIOSSLContext?
        if place.security != .none {
            do {
                var configuration = TLSConfiguration.makeClientConfiguration()
                if let authorities {
                    configuration.trustRoots = .certificates(
                        try NIOSSLCertificate.fromPEMBytes(Array(authorities.utf8)))
                }
                tls = try NIOSSLContext(configuration: configuration)
            } catch {
                settings.problem("smtpAuthoritiesFile", "holds no certificates of authorities in PEM")
                return nil
            }
        }
        return SMTPSettings(
            host: place.host, port: place.port, security: place.security, login: place.login, author: author, tls: tls)
    }

    /// `smtps://USER:PASSWORD@HOST:PORT`, `smtp://…` with STARTTLS, or `smtp+plain://…` for a server on this machine.
    private struct Place {
        var host: String
        var port: Int
        var security: SMTPDialogue.Security
        var login: SMTPLogin?

        init(_ text: String) throws(Refusal) {
            // The address contains a password, so no message repeats it.
            guard let parts = URLComponents(string: text), parts.namesServer, let host = parts.host,
                let scheme = parts.scheme, let security = Self.schemes[scheme], ["", "/"].contains(parts.path),
                parts.query == nil
            else { throw Refusal("must be smtps://USER:PASSWORD@HOST:PORT or smtp://USER:PASSWORD@HOST:PORT") }
            self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
            self.security = security.kind
            port = parts.port ?? security.port
            if security.kind == .none, !["localhost", "127.0.0.1", "::1"].contains(self.host) {
                throw Refusal("may begin with smtp+plain:// only for a server on this machine")
            }
            switch (parts.user, parts.password) {
            case (let user?, let password?): login = SMTPLogin(user: user, password: password)
            case (nil, nil): break
            default: throw Refusal("must have both a user and a password, or neither")
            }
        }

        private static let schemes: [String: (kind: SMTPDialogue.Security, port: Int)] = [
            "smtps": (.implicit, 465), "smtp": (.startTLS, 587), "smtp+plain": (.none, 25),
        ]
    }
}
