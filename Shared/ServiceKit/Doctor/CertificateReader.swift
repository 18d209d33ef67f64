import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

/// Opens TLS to a server and looks at the certificate that it shows, without judging it: whoever verifies one that has
/// expired only says that it cannot connect.
///
/// The end of the certificate is promised once, or why there is none. The connection is closed after that.
final class CertificateReader: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    struct NoTLS: Error {}

    /// PostgreSQL's SSLRequest, and its answer where it speaks TLS.
    private static let request: [UInt8] = [0, 0, 0, 8, 4, 210, 22, 47]
    private static let consent = UInt8(ascii: "S")

    private let tls: NIOSSLContext
    private let server: TLSServer
    private var promise: EventLoopPromise<Date>?

    init(_ server: TLSServer, tls: NIOSSLContext, promise: EventLoopPromise<Date>) {
        self.server = server
        self.tls = tls
        self.promise = promise
    }

    /// - Throws: why there was no certificate to look at.
    static func expiry(
        of server: TLSServer, on group: any EventLoopGroup, within patience: Duration
    ) async throws -> Date {
        var settings = TLSConfiguration.makeClientConfiguration()
        settings.certificateVerification = .none
        let tls = try NIOSSLContext(configuration: settings)
        let eventLoop = group.next()
        let promise = eventLoop.makePromise(of: Date.self)
        // Until there is a connection the promise is nobody's but ours.
        let connecting = ClientBootstrap(group: eventLoop)
            .connectTimeout(TimeAmount(patience))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        CertificateReader(server, tls: tls, promise: promise))
                }
            }
            .connect(host: server.host, port: server.port)
        connecting.whenFailure { promise.fail($0) }
        connecting.whenSuccess { channel in
            let timeout = channel.eventLoop.scheduleTask(in: TimeAmount(patience)) { channel.close(promise: nil) }
            promise.futureResult.whenComplete { _ in
                timeout.cancel()
                channel.close(promise: nil)
            }
        }
        return try await promise.futureResult.get()
    }

    func channelActive(context: ChannelHandlerContext) {
        switch server.greeting {
        case .none: openTLS(context)
        case .postgres: context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: Self.request)), promise: nil)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let answer = unwrapInboundIn(data)
        // One byte, before TLS; whatever comes inside of TLS is of no interest.
        guard server.greeting == .postgres, promise != nil else { return }
        guard answer.readableBytesView.elementsEqual([Self.consent]) else { return end(.failure(NoTLS())) }
        openTLS(context)
    }

    private func openTLS(_ context: ChannelHandlerContext) {
        do {
            let handler = try NIOSSLClientHandler(context: tls, serverHostname: server.name)
            try context.pipeline.syncOperations.addHandler(handler, position: .first)
        } catch {
            end(.failure(error))
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent {
            let certificate = try? context.channel.pipeline.syncOperations.nioSSL_peerCertificate()
            end(
                certificate.map { .success(Date(timeIntervalSince1970: TimeInterval($0.notValidAfter))) }
                    ?? .failure(NoTLS()))
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(.failure(error))
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(.failure(ChannelError.eof))
    }

    private func end(_ result: Result<Date, any Error>) {
        promise?.completeWith(result)
        promise = nil
    }
}
