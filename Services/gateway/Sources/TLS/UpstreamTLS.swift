import Foundation
import NIOCore
import NIOSSL
import NIOTLS

/// TLS towards an upstream. Its certificate has to name the host that the route names, and one of the authorities has to
/// have signed it.
final class UpstreamTLS: Sendable, Hashable {
    /// The text of authorities holds none.
    struct NoAuthority: Error {}

    /// The certificate is good, but another's.
    struct OtherName: Error {}

    private let authorities: Upstream.Authorities
    private let context: NIOSSLContext

    /// - Throws: `NoAuthority`; `NIOSSLError`.
    init(_ authorities: Upstream.Authorities) throws {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        configuration.shutdownTimeout = .seconds(1)
        self.authorities = authorities
        if let pem = authorities.pem {
            let certificates = try NIOSSLCertificate.fromPEMBytes(pem)
            guard !certificates.isEmpty else { throw NoAuthority() }
            configuration.trustRoots = .certificates(certificates)
        }
        context = try NIOSSLContext(configuration: configuration)
    }

    /// Two with the same authorities are the same: connections live on when routes are read again.
    static func == (one: UpstreamTLS, other: UpstreamTLS) -> Bool { one.authorities == other.authorities }

    func hash(into hasher: inout Hasher) { hasher.combine(authorities) }

    /// Takes a connection that nothing was sent on through its handshake.
    ///
    /// - Returns: the connection once the other side has proved who it is; a failed one is closed.
    func handshake(
        on channel: any Channel, host: String, within limit: TimeAmount
    ) -> EventLoopFuture<any Channel> {
        let done = channel.eventLoop.makePromise(of: Void.self)
        let timeout = channel.eventLoop.scheduleTask(in: limit) { done.fail(ChannelError.connectTimeout(limit)) }
        done.futureResult.whenComplete { result in
            timeout.cancel()
            if case .failure = result { channel.close(promise: nil) }
        }
        do {
            // Server Name Indication has no place for addresses, nor for the dot that ends a whole name (RFC 6066 §3). The
            // certificate is then checked against the address itself.
            let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
            let name = isAddress ? nil : host.hasSuffix(".") ? String(host.dropLast()) : host
            try channel.pipeline.syncOperations.addHandlers([
                NIOSSLClientHandler(context: context, serverHostname: name), Handshake(done, name: name),
            ])
        } catch {
            done.fail(error)
        }
        return done.futureResult.map { channel }
    }

    /// Whether a name in a certificate is the host's: byte by byte but for the case of ASCII's letters, where its first
    /// label may be `*`, which stands for any one label (RFC 9525 §6.3).
    static func isName(_ pattern: some Collection<UInt8>, of host: String) -> Bool {
        let (pattern, host) = (pattern.map(\.lowercased), host.utf8.map(\.lowercased))
        guard pattern.starts(with: "*.".utf8) else { return pattern == host }
        return host.first != UInt8(ascii: ".") && host.drop { $0 != UInt8(ascii: ".") } == pattern.dropFirst()
    }

    /// Waits for the end of a handshake, and is gone then.
    private final class Handshake: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = ByteBuffer

        private let done: EventLoopPromise<Void>
        /// What the certificate has to name; `nil` where that is the address, which NIO has checked.
        private let name: String?

        init(_ done: EventLoopPromise<Void>, name: String?) {
            self.done = done
            self.name = name
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case .handshakeCompleted? = event as? TLSUserEvent {
                guard namesTheHost(context) else { return done.fail(OtherName()) }
                done.succeed()
                context.pipeline.syncOperations.removeHandler(self, promise: nil)
            }
            context.fireUserInboundEventTriggered(event)
        }

        /// NIO would take a certificate for the address, which whoever answers look-ups chooses, in place of one for the
        /// name (RFC 9525 §6).
        private func namesTheHost(_ context: ChannelHandlerContext) -> Bool {
            guard let name else { return true }
            let certificate = try? context.pipeline.syncOperations.nioSSL_peerCertificate()
            return certificate?._subjectAlternativeNames().contains { entry in
                entry.nameType == .dnsName && UpstreamTLS.isName(entry.contents, of: name)
            } ?? false
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { done.fail(error) }

        func channelInactive(context: ChannelHandlerContext) {
            done.fail(ChannelError.eof)
            context.fireChannelInactive()
        }
    }
}

extension Upstream.Authorities {
    /// Reads a file of authorities, and makes sure that connections can be opened with it.
    ///
    /// - Parameter file: PEM; `nil`: those that the system trusts.
    /// - Throws: `UpstreamTLS.NoAuthority`; `NIOSSLError`; `CocoaError`.
    static func read(file: String?) throws -> Upstream.Authorities {
        let pem = try file.map { Array(try Data(contentsOf: URL(filePath: $0))) }
        let authorities = Upstream.Authorities(file: file, pem: pem)
        _ = try UpstreamTLS(authorities)
        return authorities
    }
}
