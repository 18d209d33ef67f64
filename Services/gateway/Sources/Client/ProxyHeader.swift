import NIOCore

/// What a proxy reports about a connection before the client's first byte (PROXY protocol, versions 1 and 2).
struct ProxyHeader: Equatable {
    /// The bytes are not a PROXY header.
    struct Fault: Error {}

    /// In bytes; the client's bytes follow.
    var length: Int
    var source: Source

    /// The source of the connection.
    enum Source: Equatable {
        case client(ClientAddress)
        /// The proxy itself, for example when it checks the gateway's health.
        case proxy
        /// A client whose address the proxy does not report.
        case unknown
    }

    /// Longer than any header that a proxy sends, including the extensions of version 2.
    static let longest = 4096
    /// The longest line of version 1, with its CRLF.
    private static let longestLine = 107
    private static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 0x51, 0x55, 0x49, 0x54, 10]
    private static let word = Array("PROXY ".utf8)

    /// Reads a header at the start of the bytes.
    ///
    /// - Returns: `nil` while it is not complete.
    static func read(_ bytes: [UInt8]) throws(Fault) -> ProxyHeader? {
        if bytes.prefix(signature.count).elementsEqual(signature.prefix(bytes.count)) { return try binary(bytes) }
        if bytes.prefix(word.count).elementsEqual(word.prefix(bytes.count)) { return try line(bytes) }
        throw Fault()
    }

    /// Version 1: `PROXY TCP4 192.0.2.1 198.51.100.1 4711 443`.
    private static func line(_ bytes: [UInt8]) throws(Fault) -> ProxyHeader? {
        guard let end = bytes.prefix(longestLine).firstIndex(of: .lineFeed) else {
            guard bytes.count < longestLine else { throw Fault() }
            return nil
        }
        guard bytes[end - 1] == .carriageReturn else { throw Fault() }
        let words = bytes[..<(end - 1)].split(separator: .space, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        if words[1] == "UNKNOWN" { return ProxyHeader(length: end + 1, source: .unknown) }
        guard words.count == 6, ["TCP4", "TCP6"].contains(words[1]), words[4...].allSatisfy(isPort),
            let client = address(words[2], of: words[1]), address(words[3], of: words[1]) != nil
        else { throw Fault() }
        return ProxyHeader(length: end + 1, source: .client(client))
    }

    private static func address(_ text: String, of family: String) -> ClientAddress? {
        text.contains(":") == (family == "TCP6") && !text.contains("%") ? ClientAddress(text) : nil
    }

    private static func isPort(_ text: String) -> Bool {
        (1...5).contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
            && (text == "0" || !text.hasPrefix("0")) && Int(text)! <= 65535
    }

    /// Version 2: the signature, version and command, family, length of the rest, addresses, extensions.
    private static func binary(_ bytes: [UInt8]) throws(Fault) -> ProxyHeader? {
        guard bytes.count >= 16 else { return nil }
        let length = 16 + Int(bytes[14]) << 8 + Int(bytes[15])
        guard length <= longest else { throw Fault() }
        guard bytes.count >= length else { return nil }
        switch bytes[12] {
        case 0x20: return ProxyHeader(length: length, source: .proxy)
        case 0x21: break
        default: throw Fault()
        }
        let (size, needed): (Int, Int)
        switch bytes[13] {
        case 0x11: (size, needed) = (4, 12)
        case 0x21: (size, needed) = (16, 36)
        // Neither TCP over IPv4 nor TCP over IPv6: the gateway does not read other addresses.
        case 0x00, 0x12, 0x22, 0x31, 0x32: return ProxyHeader(length: length, source: .unknown)
        default: throw Fault()
        }
        guard length >= 16 + needed,
            let address = try? SocketAddress(
                packedIPAddress: ByteBuffer(bytes: bytes[16..<(16 + size)]), port: 0)
        else { throw Fault() }
        return ProxyHeader(length: length, source: .client(ClientAddress(address)))
    }
}

/// Reads the PROXY header at the start of a connection and takes the client's address from it. A connection without
/// one, or from a peer that is not trusted, is closed.
final class ProxyHeaderReader: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let connection: ClientConnection
    private var bytes: [UInt8] = []

    init(for connection: ClientConnection) { self.connection = connection }

    func channelActive(context: ChannelHandlerContext) {
        guard connection.settings.trustedProxies.contains(connection.peer.address) else {
            return close(context, "untrusted proxy")
        }
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        bytes += unwrapInboundIn(data).readableBytesView
        do throws(ProxyHeader.Fault) {
            guard let header = try ProxyHeader.read(bytes) else { return }
            if case .client(let address) = header.source,
                !connection.worker.gateway.admitsConnection(from: address, now: connection.worker.now)
            {
                return context.close(promise: nil)
            }
            connection.peer.setSource(header.source)
            connection.awaitFirstRequest(isPrepared: !connection.peer.isSecure)
            let rest = ByteBuffer(bytes: bytes[header.length...])
            bytes = []
            if rest.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(rest)) }
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        } catch {
            close(context, "malformed: proxy header")
        }
    }

    private func close(_ context: ChannelHandlerContext, _ reason: String) {
        connection.worker.gateway.metrics.countRefusal(reason)
        context.close(promise: nil)
    }
}
