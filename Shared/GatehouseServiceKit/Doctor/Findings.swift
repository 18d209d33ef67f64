public import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

/// The remaining lifetime of a certificate.
public enum CertificateFinding {
    /// Seconds before its expiry by which a certificate should have been renewed. ACME clients renew a month before.
    static let soon: TimeInterval = 21 * 86_400
    static let urgent: TimeInterval = 3 * 86_400

    public static func finding(_ path: String, expiresAt: Date, now: Date = .now) -> Finding {
        finding(
            "The certificate in \(path)", expiresAt, now, expired: "clients refuse to connect",
            remedy: "Renew it and put both files in place; they are read again within a second.")
    }

    /// The same for the certificate of a server that the services connect to.
    static func finding(of server: TLSServer, expiresAt: Date, now: Date = .now) -> Finding {
        finding(
            "The certificate of \(server.what) at \(server.host):\(server.port)", expiresAt, now,
            expired: "no service connects any more",
            remedy: "Renew it at the server, and have the server read it (docs/operations/keys.md).")
    }

    private static func finding(
        _ subject: String, _ expiresAt: Date, _ now: Date, expired: String, remedy: String
    ) -> Finding {
        let left = expiresAt.timeIntervalSince(now)
        if left <= 0 { return .problem("\(subject) expired \(KeyAge.days(-left)) ago: \(expired).", remedy: remedy) }
        let text = "\(subject) expires in \(KeyAge.days(left))."
        if left < urgent { return .problem(text, remedy: remedy) }
        return left < soon ? .warning(text, remedy: remedy) : .fine(text)
    }
}

/// Opens TLS to a server and reads its certificate without verifying it. A client that verifies an expired certificate
/// reports only that it cannot connect.
///
/// The promise gets the certificate's expiry, or the error, once. Then the connection is closed.
final class CertificateReader: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    struct NoTLS: Error {}

    /// PostgreSQL's SSLRequest, and its answer if it supports TLS.
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

    /// - Throws: why no certificate could be read.
    static func expiry(
        of server: TLSServer, on group: any EventLoopGroup, within limit: Duration
    ) async throws -> Date {
        var settings = TLSConfiguration.makeClientConfiguration()
        settings.certificateVerification = .none
        let tls = try NIOSSLContext(configuration: settings)
        let eventLoop = group.next()
        let promise = eventLoop.makePromise(of: Date.self)
        // Until a connection exists, only this function can complete the promise.
        let connecting = ClientBootstrap(group: eventLoop)
            .connectTimeout(TimeAmount(limit))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        CertificateReader(server, tls: tls, promise: promise))
                }
            }
            .connect(host: server.host, port: server.port)
        connecting.whenFailure { promise.fail($0) }
        connecting.whenSuccess { channel in
            let timeout = channel.eventLoop.scheduleTask(in: TimeAmount(limit)) { channel.close(promise: nil) }
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
        // One byte, before TLS. Data inside TLS is ignored.
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

/// The effect of a difference between two clocks. The windows of refreshes and the times in tokens come from
/// PostgreSQL's clock, and each gateway uses its own clock to check whether a token has expired.
public enum ClockFinding {
    /// Seconds. A gateway refuses new tokens, or accepts expired ones, by as much as the clocks differ.
    static let noticeable: TimeInterval = 2
    static let harmful: TimeInterval = 30

    /// - Parameters:
    ///   - whose: the owner of the other clock, for example "PostgreSQL".
    ///   - ahead: seconds by which that clock is ahead of this machine's.
    /// - Returns: `nil` if the clocks agree.
    public static func finding(_ whose: String, ahead: TimeInterval) -> Finding? {
        guard abs(ahead) >= noticeable else { return nil }
        let text = "\(whose)'s clock is \(seconds(abs(ahead))) \(ahead > 0 ? "ahead of" : "behind") this machine's."
        let remedy = "Let both machines keep their time by NTP (`timedatectl status`, `chronyc tracking`)."
        return abs(ahead) >= harmful ? .problem(text, remedy: remedy) : .warning(text, remedy: remedy)
    }

    /// The time of a `Date` field (RFC 9110 §5.6.7, the format that senders use).
    static func date(_ field: String) -> Date? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
        return formatter.date(from: field).flatMap { $0.isAccepted ? $0 : nil }
    }

    private static func seconds(_ value: TimeInterval) -> String {
        value < 120 ? "\(Int(value.rounded())) s" : "\(Int((value / 60).rounded())) min"
    }
}

/// The limit of open files, which also limits connections.
enum DescriptorFinding {
    static let comfortable = 10_000

    /// - Parameter limit: the most files that the system lets the process open.
    static func finding(limit: Int) -> Finding {
        guard limit < comfortable else { return .fine("Up to \(limit) files may be open.") }
        return .warning(
            "Only \(limit) files may be open, and each connection is one: more clients than that have to wait.",
            remedy: "Raise the hard limit: LimitNOFILE of the systemd unit, `ulimits` in docker-compose.yml, "
                + "or the container runtime's default.")
    }
}

/// The age of a key. Nothing fails because of age, but an attacker who obtained the key can use it until replacement.
public enum KeyAge {
    /// Seconds after which a key is due for replacement: a year.
    public static let due: TimeInterval = 365 * 86_400

    /// - Parameters:
    ///   - what: the keys, as the start of a sentence.
    ///   - age: seconds.
    ///   - verb: the event at that time, for example "were last changed".
    ///   - remedy: how to replace the keys.
    public static func finding(_ what: String, age: TimeInterval, verb: String, remedy: String) -> Finding {
        let text = "\(what) \(verb) \(days(age)) ago"
        guard age >= due else { return .fine("\(text).") }
        return .warning("\(text): that is more than a year.", remedy: remedy)
    }

    /// For example "2 days"; hours below two days.
    public static func days(_ age: TimeInterval) -> String {
        let hours = max(0, Int(age / 3600))
        if hours < 1 { return "less than an hour" }
        if hours < 48 { return hours == 1 ? "an hour" : "\(hours) hours" }
        return "\(hours / 24) days"
    }
}
