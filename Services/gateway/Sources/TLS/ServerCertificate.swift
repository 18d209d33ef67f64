import Foundation
import GatehouseInstruments
import GatehouseServiceKit
import GatehouseSettings
import Logging
import NIOCore
import NIOSSL
import ServiceLifecycle
import Synchronization

/// The server certificate and its key: two PEM files that are read again when either changes.
///
/// Open connections keep their certificate. If the files cannot be used, or do not match while one of them is being
/// replaced, the certificate in force stays.
final class ServerCertificate: Service {
    /// Why the certificate cannot be used.
    struct Failure: Error, Equatable, CustomStringConvertible {
        var description: String
    }

    let certificateFile: String
    let keyFile: String
    private let logger: Logger
    private let pause: Duration
    private let current: Mutex<NIOSSLContext>
    private let lastProblem = Mutex<String?>(nil)
    private let expiry: Gauge

    /// - Parameters:
    ///   - expiry: ``GatewayMetrics/certificateExpiry``.
    ///   - pause: between two checks of the files.
    init(
        certificateFile: String, keyFile: String, expiry: GaugeFamily, logger: Logger, pause: Duration = .seconds(1)
    ) throws(Failure) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
        self.expiry = expiry.gauge()
        self.logger = logger
        self.pause = pause
        let (context, expiresAt) = try Self.read(certificateFile: certificateFile, keyFile: keyFile)
        current = Mutex(context)
        self.expiry.set(expiresAt)
    }

    /// The context for a new connection.
    var context: NIOSSLContext { current.withLock { $0 } }

    func run() async throws {
        await cancelWhenGracefulShutdown { [self] in
            await withTaskGroup(of: Void.self) { group in
                for path in [certificateFile, keyFile] {
                    group.addTask { [self] in
                        await FollowedFile(path: path, pause: pause).follow { [self] in try reload() }
                    }
                }
            }
        }
    }

    private func reload() throws(Failure) {
        do throws(Failure) {
            let (context, expiresAt) = try Self.read(certificateFile: certificateFile, keyFile: keyFile)
            current.withLock { $0 = context }
            lastProblem.withLock { $0 = nil }
            expiry.set(expiresAt)
            logger.notice("certificate in force", metadata: ["expiresAt": "\(expiresAt)"])
        } catch {
            // The files are read at each check until they match, but an unchanged error is logged once.
            let isNew = lastProblem.withLock { lastProblem in
                defer { lastProblem = error.description }
                return lastProblem != error.description
            }
            if isNew {
                logger.error(
                    "the certificate cannot be used, the one in force stays", metadata: ["problem": "\(error)"])
            }
            throw error
        }
    }

    /// The cipher suites of TLS 1.2 with forward secrecy and authenticated encryption (RFC 9325 §4.2); TLS 1.3 has no
    /// others.
    private static let cipherSuites: [NIOTLSCipher] = [
        .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ]

    /// - Returns: the context, and when the first certificate of the chain expires, in seconds since 1970.
    static func read(
        certificateFile: String, keyFile: String
    ) throws(Failure) -> (context: NIOSSLContext, expiresAt: Int64) {
        if let mode = SecretFile.openMode(keyFile) {
            throw Failure(description: "\(keyFile) is open to everybody (mode \(mode))")
        }
        let chain: [NIOSSLCertificate]
        do {
            chain = try NIOSSLCertificate.fromPEMFile(certificateFile)
        } catch {
            throw Failure(description: "\(certificateFile) holds no certificate in PEM")
        }
        guard let leaf = chain.first else { throw Failure(description: "\(certificateFile) holds no certificate") }
        let key: NIOSSLPrivateKey
        do {
            key = try NIOSSLPrivateKey(file: keyFile, format: .pem)
        } catch {
            throw Failure(description: "\(keyFile) holds no private key in PEM")
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        // RFC 8996, RFC 9325 §3.1.1.
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuiteValues = cipherSuites
        configuration.applicationProtocols = ["h2", "http/1.1"]
        configuration.shutdownTimeout = .seconds(1)
        do {
            return (try NIOSSLContext(configuration: configuration), Int64(leaf.notValidAfter))
        } catch {
            throw Failure(description: "\(keyFile) is not the key of the first certificate in \(certificateFile)")
        }
    }
}
