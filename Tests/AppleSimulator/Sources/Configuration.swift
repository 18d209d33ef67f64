import GatehouseServiceKit
import GatehouseSettings

/// The simulator's settings.
public struct AppleSimulatorConfiguration: Sendable {
    /// The default bundle identifier of sign-ins.
    var audience: String
    /// The default issuer of sign-ins.
    var issuer: String
    /// The client's private key (PEM). If set, the signature of client secrets is verified, not only their format.
    var clientKey: String?
    /// Where the APNs server listens.
    var apnsListenAddress: ListenAddress
    /// Enables TLS for APNs, for clients without clear-text HTTP/2.
    var apnsCertificate: APNsServer.Certificate?
    /// The key of provider tokens (PEM), with its team and identifier. Without one, tests register keys.
    var apnsKey: String?
    var apnsTeam: String
    var apnsKeyIdentifier: String
    /// The file in which the log of pushes and the channels survive the simulator's end.
    var apnsLogFile: String?

    init(_ settings: Settings) {
        if settings.environment == .production {
            settings.problem(
                "listenAddress",
                "must not be served in production (GATEHOUSE_ENVIRONMENT): every caller may sign in as any user")
        }
        audience = settings.string("audience", default: "com.example.app", "`aud` of sign-ins that name none")
        issuer = settings.string("issuer", default: "https://appleid.apple.com", "`iss` of sign-ins that name none")
        clientKey = settings.optionalFile(
            "clientKeyFile", "the client's private key in PEM; with it the signature of client secrets is verified"
        ).map(Self.withoutComments)
        apnsListenAddress = settings.listenAddress(
            "apnsListenAddress", default: ListenAddress(port: AppleSimulatorApplication.defaultPort + 1),
            "address of the APNs server")
        apnsKey = settings.optionalFile(
            "apnsKeyFile", "the key that APNs verifies provider tokens with, public or private, in PEM"
        ).map(Self.withoutComments)
        apnsTeam = settings.string("apnsTeamId", default: "DEVTEAM000", "the key's team, `iss` of provider tokens")
        apnsKeyIdentifier = settings.string(
            "apnsKeyId", default: "DEVKEY0000", "the key's identifier, `kid` of provider tokens")
        apnsLogFile = settings.optionalPath(
            "apnsLogFile", "file in which the log of pushes and the channels survive the simulator's end")
        let certificateFile = settings.optionalPath(
            "apnsCertificateFile", "certificate in PEM, which enables TLS for APNs")
        let keyFile = settings.optionalPath("apnsCertificateKeyFile", "the certificate's key in PEM")
        if let certificateFile, let keyFile {
            apnsCertificate = APNsServer.Certificate(certificateFile: certificateFile, keyFile: keyFile)
        } else if certificateFile != nil || keyFile != nil {
            settings.problem(
                "apnsCertificateFile", "and APPLE_SIMULATOR_APNS_CERTIFICATE_KEY_FILE must both be set, or neither")
        }
    }

    /// Development keys carry a marker comment before the PEM block.
    private static func withoutComments(_ pem: String) -> String {
        pem.split(separator: "\n").filter { !$0.hasPrefix("#") }.joined(separator: "\n") + "\n"
    }
}
