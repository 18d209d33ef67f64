import Foundation
import NIOCore
import NIOSSL
import NIOTLS

/// TLS to an upstream. The certificate has to name the host from the route, and one of the authorities has to have
/// signed it.
final class UpstreamTLS: Sendable, Hashable {
    /// The file of authorities contains none.
    struct NoAuthority: Error {}

    /// The certificate is valid, but for another name.
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

    /// Equal authorities make equal values, so connections continue when routes are reloaded.
    static func == (one: UpstreamTLS, other: UpstreamTLS) -> Bool { one.authorities == other.authorities }

    func hash(into hasher: inout Hasher) { hasher.combine(authorities) }

    /// Performs the TLS handshake on a new connection. Closes the connection if the handshake fails.
    ///
    /// - Returns: the connection once the upstream is authenticated.
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
            // Server Name Indication excludes addresses, and the dot that ends an absolute name (RFC 6066 §3). The
            // certificate is then verified against the address itself.
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

    /// Whether a name in a certificate matches the host, byte by byte and ignoring ASCII case. The name's first label
    /// may be `*`, which matches any one label (RFC 9525 §6.3).
    static func isName(_ pattern: some Collection<UInt8>, of host: String) -> Bool {
        let (pattern, host) = (pattern.map(\.lowercased), host.utf8.map(\.lowercased))
        guard pattern.starts(with: "*.".utf8) else { return pattern == host }
        return host.first != UInt8(ascii: ".") && host.drop { $0 != UInt8(ascii: ".") } == pattern.dropFirst()
    }

    /// Waits for the end of a handshake, and is removed then.
    private final class Handshake: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = ByteBuffer

        private let done: EventLoopPromise<Void>
        /// The name that the certificate has to contain; `nil` for an address, which NIO verifies itself.
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

        /// NIO would also accept a certificate for the address, which the name server chooses, in place of one for the
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
    /// Reads a file of authorities, and verifies that connections can be opened with it.
    ///
    /// - Parameter file: PEM; `nil`: the authorities that the system trusts.
    /// - Throws: `UpstreamTLS.NoAuthority`; `NIOSSLError`; `CocoaError`.
    static func read(file: String?) throws -> Upstream.Authorities {
        let pem = try file.map { Array(try Data(contentsOf: URL(filePath: $0))) }
        let authorities = Upstream.Authorities(file: file, pem: pem)
        _ = try UpstreamTLS(authorities)
        return authorities
    }
}
