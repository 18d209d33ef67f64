import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A mail server for tests. It speaks SMTP over a real socket, with STARTTLS, implicit TLS and AUTH, and stores the
/// mails that it receives.
public final class SMTPTestServer: Sendable {
    /// The server's behaviour.
    public struct Behaviour: Sendable {
        /// Whether TLS begins with the first byte.
        public var isImplicit = false
        public var extensions = ["STARTTLS", "AUTH PLAIN LOGIN", "SMTPUTF8"]
        /// Replies that replace the usual ones, keyed by the command's first word, or `greeting` and `content`. An
        /// empty reply sends nothing.
        public var answers: [String: String] = [:]
        /// Text that is sent in clear text together with the reply to STARTTLS.
        public var injected = ""

        public init() {}
    }

    /// A client's commands and mails.
    public struct Conversation: Sendable {
        public var isProtected = false
        /// Without content.
        public var commands: [String] = []
        /// The mails' contents, with dot-stuffing removed.
        public var contents: [String] = []
    }

    public let port: Int
    let behaviour: Mutex<Behaviour>
    private let kept = Mutex<[Conversation]>([])

    /// All conversations, the oldest first.
    public var conversations: [Conversation] { kept.withLock { $0 } }

    /// The received mails, the oldest first.
    public var mails: [ReceivedMail] { conversations.flatMap(\.contents).map(ReceivedMail.init) }

    /// Changes the behaviour from now on.
    public func change(_ change: (inout Behaviour) -> Void) {
        behaviour.withLock { change(&$0) }
    }

    private init(port: Int, behaviour: Behaviour) {
        self.port = port
        self.behaviour = Mutex(behaviour)
    }

    /// Runs `body` with a server on a free port of 127.0.0.1.
    ///
    /// - Parameter certificate: `nil` for a server without TLS.
    public static func run(
        _ behaviour: Behaviour = Behaviour(), certificate: TestCertificate?,
        _ body: (SMTPTestServer) async throws -> Void
    ) async throws {
        let tls = try certificate.map { certificate in
            try NIOSSLContext(
                configuration: .makeServerConfiguration(
                    certificateChain: NIOSSLCertificate.fromPEMFile(certificate.certificate.path)
                        .map { .certificate($0) },
                    privateKey: .privateKey(NIOSSLPrivateKey(file: certificate.key.path, format: .pem))))
        }
        let port = try freePort()
        let server = SMTPTestServer(port: port, behaviour: behaviour)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if server.behaviour.withLock({ $0.isImplicit }), let tls {
                        try pipeline.addHandler(NIOSSLServerHandler(context: tls))
                    }
                    try pipeline.addHandler(SMTPTestHandler(server: server, tls: tls, number: server.begin()))
                }
            }
            .bind(host: "127.0.0.1", port: port).get()
        do {
            try await body(server)
        } catch {
            try await channel.close()
            throw error
        }
        try await channel.close()
    }

    private func begin() -> Int {
        let isImplicit = behaviour.withLock { $0.isImplicit }
        return kept.withLock { kept in
            kept.append(Conversation(isProtected: isImplicit))
            return kept.count - 1
        }
    }

    func note(_ number: Int, _ change: (inout Conversation) -> Void) {
        kept.withLock { change(&$0[number]) }
    }
}
