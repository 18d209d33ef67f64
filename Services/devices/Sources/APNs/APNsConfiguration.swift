import Crypto
import Foundation
import GatehouseBytes
import GatehouseServiceContracts

/// A value for APNs that is unusable.
struct APNsConfigurationError: Error, CustomStringConvertible {
    /// A sentence for the operator. It holds no secret.
    let description: String
}

/// A key of Apple's for APNs, and what it is used for.
struct APNsKey: Sendable {
    /// Apple's length of both identifiers.
    private static let identifierLength = 10

    /// The ten characters of the developer team.
    let team: String
    /// The ten characters of the key.
    let keyID: String
    /// The apps' bundle identifiers for which the key is used; `nil` for all.
    let topics: Set<VerbatimString>?
    let environments: Set<PushEnvironment>
    let privateKey: P256.Signing.PrivateKey

    /// - Parameters:
    ///   - pem: the text of the `.p8` file.
    ///   - topics: bundle identifiers, without suffix of a push type; `nil` for all.
    ///   - environments: Apple restricts a key to one of them, or to none.
    /// - Throws: the first problem.
    init(
        team: String, keyID: String, pem: String, topics: [String]? = nil,
        environments: Set<PushEnvironment> = [.production, .sandbox]
    ) throws(APNsConfigurationError) {
        for (name, value) in [("team", team), ("key", keyID)] {
            guard value.utf8.count == Self.identifierLength,
                value.utf8.allSatisfy({ $0.isASCIILetter || $0.isASCIIDigit })
            else {
                throw APNsConfigurationError(description: "The \(name) identifier must be 10 letters and digits.")
            }
        }
        guard topics?.isEmpty != true, topics?.allSatisfy(BundleID.isValid) ?? true else {
            throw APNsConfigurationError(description: "The topics of key \(keyID) must be bundle identifiers.")
        }
        guard !environments.isEmpty, environments.allSatisfy(\.isKnown) else {
            throw APNsConfigurationError(
                description: "The environments of key \(keyID) must be production, sandbox, or both.")
        }
        // A comment may stand before the key.
        let text = pem.firstRange(of: "-----BEGIN").map { String(pem[$0.lowerBound...]) } ?? ""
        guard let privateKey = try? P256.Signing.PrivateKey(pemRepresentation: text) else {
            throw APNsConfigurationError(
                description: "The file of key \(keyID) must hold a P-256 private key in PEM, as Apple's .p8 file does.")
        }
        self.team = team
        self.keyID = keyID
        self.topics = topics.map { Set(verbatim: $0) }
        self.environments = environments
        self.privateKey = privateKey
    }
}

/// Where APNs is reached.
struct APNsEndpoints: Sendable {
    /// A server: over TLS, or in clear text for `http:`, which is for tests and development.
    struct Server: Sendable, Equatable {
        let isEncrypted: Bool
        let host: String
        let port: Int
        /// The value of `:authority`.
        let authority: String

        /// Apple's server of the name.
        init(host: String, port: Int = 443) {
            (isEncrypted, self.port, self.host) = (true, port, host)
            authority = port == 443 ? host : "\(host):\(port)"
        }

        init(_ text: String) throws(APNsConfigurationError) {
            guard let url = URL(string: text), let scheme = url.scheme, ["http", "https"].contains(scheme),
                let host = url.host(percentEncoded: false), !host.isEmpty, ["", "/"].contains(url.path()),
                url.query() == nil, url.fragment() == nil, url.user() == nil
            else {
                throw APNsConfigurationError(
                    description: "The address of APNs must be https://HOST[:PORT]; http: is for tests.")
            }
            isEncrypted = scheme == "https"
            // The brackets of an IPv6 address belong to the URL's syntax.
            self.host = host.trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
            port = url.port ?? (isEncrypted ? 443 : 80)
            let name = self.host.contains(":") ? "[\(self.host)]" : self.host
            authority = url.port.map { "\(name):\($0)" } ?? name
        }
    }

    static let appleProductionChannels = Server(host: "api-manage-broadcast.push.apple.com", port: 2196)
    static let appleSandboxChannels = Server(host: "api-manage-broadcast.sandbox.push.apple.com", port: 2195)

    let production: Server
    let sandbox: Server
    /// Where broadcasts are published; `nil`: with the other pushes.
    var productionBroadcasts: Server?
    var sandboxBroadcasts: Server?
    /// Where channels are managed (Apple, “Sending channel management requests to APNs”).
    var productionChannels = Self.appleProductionChannels
    var sandboxChannels = Self.appleSandboxChannels
    /// The PEM file of the certificate authorities that sign the servers' certificates; `nil` for the system's.
    let trustRootsFile: String?

    /// The servers of an environment, each with its uses.
    func servers(of environment: PushEnvironment) -> [(uses: [APNsConnectionPool.Use], server: Server)] {
        let isSandbox = environment == .sandbox
        let pushes = isSandbox ? sandbox : production
        let broadcasts = (isSandbox ? sandboxBroadcasts : productionBroadcasts) ?? pushes
        let channels: (uses: [APNsConnectionPool.Use], server: Server) = (
            [.channels], isSandbox ? sandboxChannels : productionChannels
        )
        return broadcasts == pushes
            ? [([.pushes, .broadcasts], pushes), channels]
            : [([.pushes], pushes), ([.broadcasts], broadcasts), channels]
    }
}

/// Limits of the client to APNs.
struct APNsLimits: Sendable {
    /// From `send` to its outcome.
    var sendTimeout = Duration.seconds(10)
    /// From a stream's opening until the kernel has its whole request. A server that takes it later would get a push
    /// that was checked too long ago.
    var bodyTime = Duration.milliseconds(400)
    /// From the look-up of the name to the server's SETTINGS.
    var connectTimeout = Duration.seconds(5)
    /// Connections of a pool to APNs for pushes that are neither urgent nor to unproven tokens.
    var maximumConnections = 3
    /// Pushes of a pool that wait for a stream.
    var maximumWaiting = 4096
    /// Streams of a connection, if the server allows more.
    var maximumStreams = 1000
    /// Bytes of a response's body. One stream's initial window has as many.
    var maximumBody = 65_535
    /// A connection that has heard nothing for so long while streams wait gets no more pushes while another has room.
    var stallTime = Duration.milliseconds(200)
    /// One that has heard nothing for so long gets no more pushes.
    var hangTime = Duration.seconds(1)
    /// A connection that was idle for so long is checked with a PING.
    var pingAfter = Duration.seconds(3600)
    /// A connection that has not answered a PING for so long is closed.
    var pingTimeout = Duration.seconds(10)
    /// Between two attempts to connect: the first, and the longest after further failures. Each is shortened by up to
    /// half at random.
    var backoff = (first: Duration.milliseconds(250), longest: Duration.seconds(30))
    /// A pool that APNs has refused tries one push again after so long.
    var retryAfterRefusal = Duration.seconds(300)
    /// A pool whose device tokens APNs has refused too often tries one push again after so long. Each attempt may cost
    /// good tokens, so it is longer.
    var retryAfterTokenRefusals = Duration.seconds(3600)

    /// For requests about channels: few, which a caller waits for, with Apple's list of up to 10,000 channels.
    var forChannels: APNsLimits {
        var limits = self
        limits.sendTimeout = min(sendTimeout, .seconds(5))
        limits.maximumConnections = 1
        limits.maximumBody = 1 << 20
        return limits
    }
}
