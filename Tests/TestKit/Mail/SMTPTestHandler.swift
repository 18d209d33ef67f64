import Foundation
import NIOCore
import NIOSSL
import Synchronization

/// One conversation of ``SMTPTestServer``. It belongs to one event loop.
final class SMTPTestHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let server: SMTPTestServer
    private let tls: NIOSSLContext?
    private let number: Int
    private var line: [UInt8] = []
    private var content: [String]?
    /// The remaining lines of AUTH LOGIN.
    private var loginLines = 0

    init(server: SMTPTestServer, tls: NIOSSLContext?, number: Int) {
        self.server = server
        self.tls = tls
        self.number = number
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { greet(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        greet(context)
    }

    private func greet(_ context: ChannelHandlerContext) {
        send("greeting", "220 test ESMTP", context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        while let byte = buffer.readInteger(as: UInt8.self) {
            line.append(byte)
            guard byte == UInt8(ascii: "\n") else { continue }
            let text = String(decoding: line, as: UTF8.self).trimmingCharacters(in: .newlines)
            line = []
            if content == nil { handle(text, context) } else { take(text, context) }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func take(_ text: String, _ context: ChannelHandlerContext) {
        guard text == "." else {
            content?.append(text.hasPrefix(".") ? String(text.dropFirst()) : text)
            return
        }
        let whole = (content ?? []).joined(separator: "\r\n")
        content = nil
        if server.behaviour.withLock({ $0.answers["content"] }) == nil {
            server.note(number) { $0.contents.append(whole) }
        }
        send("content", "250 taken", context)
    }

    private func handle(_ text: String, _ context: ChannelHandlerContext) {
        server.note(number) { $0.commands.append(text) }
        if loginLines > 0 {
            loginLines -= 1
            return send("AUTH", loginLines == 0 ? "235 welcome" : "334 UGFzc3dvcmQ6", context)
        }
        let words = text.split(separator: " ").map(String.init)
        switch words.first {
        case "EHLO":
            let lines = ["test"] + server.behaviour.withLock { $0.extensions }
            let reply = lines.enumerated().map { "250\($0 + 1 == lines.count ? " " : "-")\($1)" }
            send("EHLO", reply.joined(separator: "\r\n"), context)
        case "STARTTLS":
            send("STARTTLS", "220 go ahead\(server.behaviour.withLock { $0.injected })", context)
            guard let tls, server.behaviour.withLock({ $0.answers["STARTTLS"] }) == nil else { return }
            server.note(number) { $0.isProtected = true }
            try? context.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls), position: .first)
        case "AUTH" where words.dropFirst().first == "LOGIN":
            loginLines = 2
            send("LOGIN", "334 VXNlcm5hbWU6", context)
        case "AUTH": send("AUTH", "235 welcome", context)
        case "DATA":
            if server.behaviour.withLock({ $0.answers["DATA"] }) == nil { content = [] }
            send("DATA", "354 go ahead", context)
        case "QUIT":
            send("QUIT", "221 bye", context)
            if server.behaviour.withLock({ $0.answers["QUIT"] }) == nil { context.close(promise: nil) }
        case let word?: send(word, "250 ok", context)
        case nil: send("", "500 what", context)
        }
    }

    private func send(_ key: String, _ usual: String, _ context: ChannelHandlerContext) {
        let text = server.behaviour.withLock { $0.answers[key] } ?? usual
        guard !text.isEmpty else { return }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text + "\r\n")), promise: nil)
    }
}
