import Foundation
import GatehouseAccessTokens
import GatehouseInstruments
import GatehouseServiceContracts
import GatehouseServiceKit
import GatehouseSettings
import Logging
import ServiceLifecycle
import Synchronization

/// The signing keys in use. The source reads them again when their file changes, so that a rotation needs no restart.
final class SigningKeySource: Service {
    private struct Present {
        var signer: AccessTokenSigner
        var published: VerificationKeySet
        var verifier: AccessTokenVerifier
        var states: [SigningKeyList.Key]

        init(_ keys: SigningKeys, issuer: String, audience: String) throws {
            signer = try AccessTokenSigner(key: keys.active)
            published = try VerificationKeySet(keys: keys.published)
            verifier = try AccessTokenVerifier(issuer: issuer, audience: audience, keys: published)
            states = keys.entries.map {
                SigningKeyList.Key(
                    kid: $0.keyID, state: SigningKeyState(rawValue: $0.state.rawValue), since: $0.since)
            }
        }
    }

    private let file: SigningKeyFile?
    private let issuer: String
    private let audience: String
    /// Whether development keys are accepted when the file changes.
    private let allowsDevelopment: Bool
    private let logger: Logger
    private let pause: Duration
    private let present: Mutex<Present>
    /// Why the last attempt to use the file failed; `nil` after a success.
    private let lastError = Mutex<String?>(nil)
    private let metrics = SigningKeyMetrics()
    private let failures = Counter(
        "tokens_signing_key_errors_total", help: "Attempts to read the signing keys file anew that failed.")

    /// - Parameters:
    ///   - keys: the keys at the start.
    ///   - file: the file of the keys; without a file they never change.
    ///   - issuer: the issuer that verified tokens must have, as with `audience`.
    ///   - pause: the time between two checks of the file.
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
        present = Mutex(try Present(keys, issuer: issuer, audience: audience))
        metrics.record(keys)
    }

    var signer: AccessTokenSigner { present.withLock { $0.signer } }

    var published: VerificationKeySet { present.withLock { $0.published } }

    /// The state of each published key, and when it entered the state.
    var states: [SigningKeyList.Key] { present.withLock { $0.states } }

    /// Verifies tokens that were signed with any of the published keys.
    var verifier: AccessTokenVerifier { present.withLock { $0.verifier } }

    func run() async throws {
        guard let file else { return try await gracefulShutdown() }
        await cancelWhenGracefulShutdown {
            await FollowedFile(path: file.path, pause: self.pause).follow { try self.read(file) }
        }
    }

    private func read(_ file: SigningKeyFile) throws {
        do {
            try use(file.read(), of: file)
            lastError.withLock { $0 = nil }
        } catch {
            // The keys in use stay. The file is read again every second, so a repeated error is logged only once.
            failures.increment()
            let isKnown = lastError.withLock { lastError in
                defer { lastError = "\(error)" }
                return lastError == "\(error)"
            }
            if !isKnown {
                logger.error("The signing keys could not be read anew.", metadata: ["error": "\(error)"])
            }
            throw error
        }
    }

    private func use(_ keys: SigningKeys, of file: SigningKeyFile) throws {
        guard allowsDevelopment || !keys.isForDevelopment else {
            throw SigningKeysError("\(file.path) was made for development")
        }
        let new = try Present(keys, issuer: issuer, audience: audience)
        let isNew = present.withLock { present in
            defer { present = new }
            return present.published != new.published
                || present.signer.publicKey.thumbprint != new.signer.publicKey.thumbprint
        }
        metrics.record(keys)
        if isNew {
            logger.notice("The signing keys were read anew.", metadata: ["kid": "\(new.signer.publicKey.thumbprint)"])
        }
    }
}

/// Metrics: when each signing key entered its state, if its file says so, and when the file was read.
final class SigningKeyMetrics: Sendable {
    private struct Label: Hashable {
        let kid: String
        let state: String
    }

    private let keys = Mutex<[Label: Gauge]>([:])
    private let read: Gauge
    private let states: GaugeFamily

    init(factory: (any MetricsFactory)? = nil) {
        states = GaugeFamily(
            "tokens_signing_key_state_timestamp_seconds",
            help: "Since when a signing key is in its state, in seconds since 1970, if its file says so.",
            labels: ["kid", "state"], factory: factory)
        read = Gauge(
            "tokens_signing_keys_read_timestamp_seconds",
            help: "When the signing keys in use were read from their file, in seconds since 1970.", factory: factory)
    }

    func record(_ keys: SigningKeys, readAt: Date = .now) {
        read.set(readAt.timeIntervalSince1970)
        let present = keys.entries.reduce(into: [Label: Date]()) { present, entry in
            present[Label(kid: entry.keyID, state: entry.state.rawValue)] = entry.since
        }
        self.keys.withLock { gauges in
            for (label, gauge) in gauges where present[label] == nil {
                gauge.remove()
                gauges[label] = nil
            }
            for (label, since) in present {
                let gauge = gauges[label] ?? states.gauge(label.kid, label.state)
                gauge.set(since.timeIntervalSince1970)
                gauges[label] = gauge
            }
        }
    }
}
