import Logging
import NIOCore
import NIOPosix
import NIOSSL
import ServiceLifecycle

/// The APNs server: HTTP/2 in clear text with prior knowledge (RFC 9113 §3.3), or over TLS if it has a certificate.
struct APNsServer: Service {
    /// The paths of the PEM files of a certificate and its key.
    struct Certificate: Sendable {
        var certificateFile: String
        var keyFile: String
    }

    private let channel: any Channel

    /// Listens at once, so that the port is known before the server runs.
    init(
        host: String, port: Int, certificate: Certificate?, simulation: APNsSimulation,
        eventLoopGroup: any EventLoopGroup
    ) async throws {
        let tls = try certificate.map { try Self.context($0) }
        channel = try await ServerBootstrap(group: eventLoopGroup)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    try APNsConnection.add(to: channel, of: simulation)
                }
            }
            .bind(host: host, port: port).get()
    }

    /// The port, which the system has chosen if 0 was requested.
    var port: Int { channel.localAddress?.port ?? 0 }

    func run() async throws {
        try await withTaskCancellationOrGracefulShutdownHandler {
            try await channel.closeFuture.get()
        } onCancelOrGracefulShutdown: {
            channel.close(promise: nil)
        }
    }

    private static func context(_ certificate: Certificate) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(certificate.certificateFile).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: certificate.keyFile, format: .pem)))
        configuration.applicationProtocols = ["h2"]
        return try NIOSSLContext(configuration: configuration)
    }
}
