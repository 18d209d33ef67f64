import AsyncHTTPClient
public import Foundation
import GatehouseServiceContracts
import NIOCore
import NIOPosix
import NIOSSL

/// Another service of Gatehouse, and a request that shows whether it accepts this caller.
public struct ExaminedPeer: Sendable {
    /// A request that changes nothing. Its response differs between a known and an unknown caller.
    public struct Probe: Sendable {
        var method: String
        var path: String
        var headers: [(String, String)]
        var json: String?
        /// The status that the peer answers only to an accepted credential.
        var accepted: Int

        public init(
            _ path: String, method: String = "GET", headers: [(String, String)] = [], json: String? = nil,
            accepted: Int = 200
        ) {
            self.method = method
            self.path = path
            self.headers = headers
            self.json = json
            self.accepted = accepted
        }
    }

    let name: String
    let urls: [URL]
    let credential: String
    let settings: (mine: String, theirs: String)
    let probe: Probe

    /// - Parameters:
    ///   - settings: the names of the settings with the credential, at the caller and at the callee.
    ///   - probe: the request that sends the credential.
    public init(
        _ name: String, urls: [URL], credential: String, settings: (mine: String, theirs: String), probe: Probe
    ) {
        self.name = name
        self.urls = urls
        self.credential = credential
        self.settings = settings
        self.probe = probe
    }
}

extension Examination {
    /// Checks each replica of another service: its readiness, its clock, and whether it accepts this caller.
    public func examine(_ peer: ExaminedPeer) async -> [Finding] {
        var findings: [Finding] = []
        for url in peer.urls {
            let text = url.absoluteString
            findings += await examine(peer, text.hasSuffix("/") ? String(text.dropLast()) : text)
        }
        return findings
    }

    private func examine(_ peer: ExaminedPeer, _ base: String) async -> [Finding] {
        let name = "\(peer.name) at \(base)"
        let ready: Reply
        do {
            ready = try await send(base + "/readyz")
        } catch {
            return [
                .problem(
                    "\(name) gives no answer: \(NetworkTrouble.words(error)).",
                    remedy: "Is it running, is the address right, and may this machine connect to it?")
            ]
        }
        var findings: [Finding] = []
        if let ahead = ready.ahead, let clock = ClockFinding.finding(name, ahead: ahead) { findings.append(clock) }
        guard ready.status == 200 else {
            findings.append(
                .problem(
                    "\(name) is not ready (\(ready.status)\(Self.reasons(ready.body))).",
                    remedy: "Run `\(peer.name) doctor` there."))
            return findings
        }
        do {
            let probe = peer.probe
            let known = try await send(
                base + probe.path, method: probe.method,
                headers: probe.headers + [(HeaderName.credential, peer.credential)], json: probe.json)
            switch known.status {
            case probe.accepted:
                findings.append(.fine("\(name) is ready and accepts our credential."))
            case 401, 403:
                findings.append(
                    .problem(
                        "\(name) does not accept the credential in \(peer.settings.mine).",
                        remedy: "Let it be one of those in \(peer.settings.theirs) of \(peer.name), and restart "
                            + "the service that was changed."))
            default:
                findings.append(
                    .problem(
                        "\(name) is ready, but answered \(known.status) instead of \(probe.accepted).",
                        remedy: "See its log."))
            }
        } catch {
            findings.append(
                .problem(
                    "\(name) no longer gives an answer: \(NetworkTrouble.words(error)).", remedy: "See its log."))
        }
        return findings
    }

    /// The names of the failing checks in the response of a service that is not ready.
    static func reasons(_ problem: String) -> String {
        let document = try? StrictJSON.decode(ProblemDocument.self, from: Array(problem.utf8))
        let fields = document?.errors?.map(\.field) ?? []
        return fields.isEmpty ? "" : ": " + fields.joined(separator: ", ")
    }
}

/// Why a server did not respond, in plain words. Libraries report only the names of their types and numbers.
public enum NetworkTrouble {
    public static let refused = "it refuses connections"
    public static let silent = "it does not answer in time"
    public static let unknownName = "its name does not resolve"
    public static let unreachable = "it is unreachable from this machine"
    public static let hungUp = "it closes the connection"
    public static let untrusted = "its certificate has expired, or is of an authority that is not trusted here"
    public static let otherName = "its certificate is for another name"
    public static let noTLS = "it does not speak TLS"
    public static let unconnected = "connecting timed out: it is down, or a firewall drops the packets"

    /// The text after "gives no answer: ", without a full stop. An unknown error is described as it is.
    public static func words(_ error: any Error) -> String {
        switch error {
        case let error as NIOConnectionError: words(error)
        case let error as HTTPClientError: words(error) ?? "\(error)"
        case let error as IOError: words(ofErrno: error.errnoCode) ?? "\(error)"
        case let error as NIOSSLError: words(error)
        case let error as NIOSSLExtraError:
            error == .failedToValidateHostname ? otherName : "\(error)"
        case ChannelError.connectTimeout: unconnected
        case ChannelError.eof, ChannelError.ioOnClosedChannel, ChannelError.alreadyClosed: hungUp
        case is CertificateReader.NoTLS: noTLS
        default: "\(error)"
        }
    }

    private static func words(_ error: NIOConnectionError) -> String {
        guard let last = error.connectionErrors.last else { return unknownName }
        return words(last.error)
    }

    private static func words(_ error: HTTPClientError) -> String? {
        switch error {
        case .connectTimeout, .tlsHandshakeTimeout: unconnected
        case .deadlineExceeded, .readTimeout, .writeTimeout, .getConnectionFromPoolTimeout: silent
        case .remoteConnectionClosed: hungUp
        default: nil
        }
    }

    private static func words(_ error: NIOSSLError) -> String {
        let text = "\(error)"
        if text.contains("CERTIFICATE_VERIFY_FAILED") { return untrusted }
        if text.contains("WRONG_VERSION_NUMBER") { return noTLS }
        if case .uncleanShutdown = error { return hungUp }
        return text
    }

    private static func words(ofErrno code: CInt) -> String? {
        switch code {
        case ECONNREFUSED: refused
        case ETIMEDOUT: unconnected
        case EHOSTUNREACH, ENETUNREACH, ENETDOWN: unreachable
        case ECONNRESET, EPIPE: hungUp
        default: nil
        }
    }
}

/// The state of Redis (`INFO`) and its findings. Gatehouse stores only limits and locks in Redis, so this data may be
/// lost at any time.
public struct RedisFacts: Sendable, Equatable {
    /// `master`, or `slave`.
    var role: String?
    var usedMemory: Int64?
    /// Bytes; 0 for no limit.
    var maximumMemory: Int64?
    var policy: String?

    /// - Parameter info: the response to `INFO`: lines `name:value`.
    public init(info: String) {
        var values: [Substring: String] = [:]
        for line in info.split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { values[parts[0]] = String(parts[1]) }
        }
        role = values["role"]
        usedMemory = values["used_memory"].flatMap { Int64($0) }
        maximumMemory = values["maxmemory"].flatMap { Int64($0) }
        policy = values["maxmemory_policy"]
    }

    public var findings: [Finding] {
        var findings: [Finding] = []
        if let role, role != "master" {
            findings.append(
                .problem(
                    "Redis is a replica, which takes no writes: limits and locks do not work.",
                    remedy: "Give an address that follows the primary."))
        }
        let full = 0.9
        if let usedMemory, let maximumMemory, maximumMemory > 0, policy == "noeviction",
            Double(usedMemory) > full * Double(maximumMemory)
        {
            findings.append(
                .warning(
                    "Redis is nearly full (\(usedMemory >> 20) of \(maximumMemory >> 20) MiB) and evicts nothing: it "
                        + "will refuse writes.",
                    remedy: "Give it more memory, or set maxmemory-policy to allkeys-lru: only counts would be lost."))
        }
        return findings.isEmpty ? [.fine("Redis answers.")] : findings
    }
}

extension Examination {
    /// Examines Redis and its certificate.
    ///
    /// - Parameters:
    ///   - tls: `nil` if connections do not use TLS.
    ///   - info: sends `INFO` and returns the response.
    public func redis(tls: TLSServer?, _ info: () async throws -> String) async -> [Finding] {
        let certificate = if let tls { await certificate(of: tls) } else { [] as [Finding] }
        return await answer(info) + certificate
    }

    private func answer(_ info: () async throws -> String) async -> [Finding] {
        do {
            return RedisFacts(info: try await info()).findings
        } catch {
            let why = NetworkTrouble.words(error)
            return [
                .warning(
                    "Redis gives no answer: \(why). Everything works without it, and each replica limits for itself.",
                    remedy: "Is it running, and are address, password and certificate right?")
            ]
        }
    }
}

/// A server with a TLS certificate.
public struct TLSServer: Sendable {
    /// The protocol before the TLS handshake.
    public enum Greeting: Sendable {
        case none
        /// PostgreSQL's request for TLS.
        case postgres
    }

    let what: String
    let host: String
    let port: Int
    let greeting: Greeting

    /// - Parameter what: the server's name, for example "PostgreSQL".
    public init(_ what: String, host: String, port: Int, greeting: Greeting = .none) {
        self.what = what
        self.host = host
        self.port = port
        self.greeting = greeting
    }

    /// The name for Server Name Indication, which does not permit addresses (RFC 6066 §3).
    var name: String? { (try? SocketAddress(ipAddress: host, port: 0)) == nil ? host : nil }
}

extension Examination {
    /// Examines the remaining lifetime of a server's certificate. Returns no finding if the certificate cannot be read:
    /// the check that connects to the server reports that.
    public func certificate(of server: TLSServer) async -> [Finding] {
        guard
            let expiresAt = try? await CertificateReader.expiry(of: server, on: eventLoopGroup, within: timeout)
        else { return [] }
        return [CertificateFinding.finding(of: server, expiresAt: expiresAt)]
    }
}
