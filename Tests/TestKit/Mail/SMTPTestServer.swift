import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A mail server for tests: it speaks SMTP over a real socket, with STARTTLS, TLS from the first byte, and AUTH, and keeps
/// what it is given.
public final class SMTPTestServer: Sendable {
    /// How it behaves.
    public struct Behaviour: Sendable {
        /// Whether TLS begins with the first byte.
        public var isImplicit = false
        public var extensions = ["STARTTLS", "AUTH PLAIN LOGIN", "SMTPUTF8"]
        /// By the command's first word, or `greeting` and `content`; what is said in place of the usual answer. Nothing
        /// is said where it is empty.
        public var answers: [String: String] = [:]
        /// Said together with the agreement to STARTTLS, in the clear.
        public var injected = ""

        public init() {}
    }

    /// What a client has said.
    public struct Conversation: Sendable {
        public var isProtected = false
        /// Without content.
        public var commands: [String] = []
        /// As it came, dots taken off.
        public var contents: [String] = []
    }

    public let port: Int
    let behaviour: Mutex<Behaviour>
    private let kept = Mutex<[Conversation]>([])

    /// All that have begun, the oldest first.
    public var conversations: [Conversation] { kept.withLock { $0 } }

    /// What was given to it, the oldest first.
    public var mails: [ReceivedMail] { conversations.flatMap(\.contents).map(ReceivedMail.init) }

    /// Behaves otherwise from now on.
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
