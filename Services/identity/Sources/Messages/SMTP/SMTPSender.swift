import Contracts
import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import ServiceKit
import Synchronization

/// Hands mail in at an SMTP server, each on a connection of its own.
struct SMTPSender: MessageSender {
    let settings: SMTPSettings
    let eventLoopGroup: any EventLoopGroup
    /// For the whole exchange. Less than a task of the outbox stays claimed, so that no other process sends it too.
    var timeout = Duration.seconds(10)

    private typealias Connection = NIOAsyncChannel<SMTPReply, SMTPOutput>

    func send(_ message: OutgoingMessage) async throws {
        let content = MailContent(message, from: settings.author, date: Int64(Date.now.timeIntervalSince1970))
        let dialogue = SMTPDialogue(
            security: settings.security, name: settings.author.domain, login: settings.login,
            envelope: .init(sender: settings.author.address.value, recipient: message.to.value))
        // Once the server has the mail, a farewell that fails must not have it sent again.
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
        // No name of a server is an address: the certificate is compared with the address then.
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        return try NIOSSLClientHandler(context: tls, serverHostname: isAddress ? nil : host)
    }

    /// Whether the server has taken the mail over.
    private final class Accepted: Sendable {
        private let state = Mutex(false)

        var value: Bool { state.withLock { $0 } }

        func set() { state.withLock { $0 = true } }
    }
}
