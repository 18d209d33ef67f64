import AccessToken
// `timespec`'s fields may be taken for Dispatch's.
import Dispatch
import Foundation
import Logging
import Metrics
import ServiceLifecycle
import Synchronization

/// The keys in use. When the file changes they are read anew: no replica needs a restart for a rotation.
final class SigningKeyStore: Service {
    private struct Present {
        var signer: AccessTokenSigner
        var published: VerificationKeySet
        var verifier: AccessTokenVerifier
        var version: FileVersion?

        init(_ keys: SigningKeys, issuer: String, audience: String, version: FileVersion?) throws {
            signer = try AccessTokenSigner(key: keys.active)
            published = try VerificationKeySet(keys: keys.published)
            verifier = try AccessTokenVerifier(issuer: issuer, audience: audience, keys: published)
            self.version = version
        }
    }

    /// What tells that a file was replaced or rewritten.
    private struct FileVersion: Equatable {
        var file: UInt64
        var size: Int64
        var seconds: Int
        var nanoseconds: Int
    }

    private let file: SigningKeyFile?
    private let issuer: String
    private let audience: String
    /// Whether keys with the mark of development may take the place of the first.
    private let allowsDevelopment: Bool
    private let logger: Logger
    private let pause: Duration
    private let present: Mutex<Present>

    /// - Parameters:
    ///   - keys: as read at the start.
    ///   - file: where they were read from; without one they never change.
    ///   - issuer: of the tokens that are verified, as is `audience`.
    ///   - pause: between two looks at the file.
    init(
        _ keys: SigningKeys, file: SigningKeyFile?, issuer: String, audience: String, logger: Logger,
        pause: Duration = .seconds(1)
    ) throws {
        self.file = file
        self.issuer = issuer
        self.audience = audience
        allowsDevelopment = keys.isForDevelopment
        self.logger = logger
        self.pause = pause
        present = Mutex(try Present(keys, issuer: issuer, audience: audience, version: nil))
    }

    var signer: AccessTokenSigner { present.withLock { $0.signer } }

    var published: VerificationKeySet { present.withLock { $0.published } }

    /// Verifies what was signed with any of the published keys.
    var verifier: AccessTokenVerifier { present.withLock { $0.verifier } }

    func run() async throws {
        guard let file else { return try await gracefulShutdown() }
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                self.look(at: file)
                try? await Task.sleep(for: self.pause)
            }
        }
    }

    private func look(at file: SigningKeyFile) {
        guard let version = Self.version(of: file), version != present.withLock({ $0.version }) else { return }
        do {
            let keys = try file.read()
            guard allowsDevelopment || !keys.isForDevelopment else {
                throw SigningKeysError("\(file.path) was made for development")
            }
            let new = try Present(keys, issuer: issuer, audience: audience, version: version)
            let isNew = present.withLock { present in
                defer { present = new }
                return present.published != new.published
                    || present.signer.publicKey.thumbprint != new.signer.publicKey.thumbprint
            }
            if isNew {
                logger.notice(
                    "The signing keys were read anew.", metadata: ["kid": "\(new.signer.publicKey.thumbprint)"])
            }
        } catch {
            // The keys that are in use stay. The same file is not complained of twice.
            present.withLock { $0.version = version }
            Counter(label: "tokens_signing_key_errors_total").increment()
            logger.error("The signing keys could not be read anew.", metadata: ["error": "\(error)"])
        }
    }

    private static func version(of file: SigningKeyFile) -> FileVersion? {
        // Follows links: a mounted secret is one that is pointed elsewhere.
        var info = stat()
        guard stat(file.path, &info) == 0 else { return nil }
        #if canImport(Darwin)
            let modified = info.st_mtimespec
        #else
            let modified = info.st_mtim
        #endif
        return FileVersion(
            file: UInt64(info.st_ino), size: Int64(info.st_size), seconds: modified.tv_sec,
            nanoseconds: modified.tv_nsec)
    }
}
