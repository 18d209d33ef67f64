import Foundation
import GatehouseAccessTokens
import GatehouseBytes
import GatehouseInstruments
import GatehouseServiceContracts
import GatehouseServiceKit
import GatehouseTokenValidation
import Logging

/// Apple's keys. One task at a time fetches them when they are needed (see ``AppleKeyCache``).
actor AppleKeys {
    private var cache: AppleKeyCache<AppleKeySet>
    private var fetching: Task<Void, Never>?
    private let fetch: @Sendable () async throws -> AppleKeySet
    private let logger: Logger
    private let failures = Counter(
        "identity_apple_keys_fetch_failed_total", help: "Attempts to fetch Apple's keys that failed.")
    private let unusable: UnusableKeys

    init(
        rules: AppleKeyCache<AppleKeySet>.Rules = .init(), logger: Logger,
        fetch: @escaping @Sendable () async throws -> AppleKeySet
    ) {
        self.cache = AppleKeyCache(rules: rules)
        self.logger = logger
        self.fetch = fetch
        unusable = UnusableKeys(
            issuer: "Apple",
            number: Gauge("identity_apple_unusable_keys", help: "Keys that Apple publishes and identity cannot use."),
            logger: logger)
    }

    /// The key with the id; `nil` when Apple has no such key.
    /// - Throws: `UNAVAILABLE` while Apple's keys cannot be fetched.
    func key(_ kid: String) async throws(Problem) -> SignatureVerifier? {
        // A fetch that began before this call may have begun before Apple published the key, and does not replace a
        // fetch of this call's own.
        if cache.keys?[kid] == nil { await fetching?.value }
        var hasFetched = false
        while true {
            let isFetching = fetching != nil
            switch cache.decide(now: .now, hasFetched: hasFetched, has: { $0[kid] != nil }) {
            case .use:
                return cache.keys?[kid]
            case .useAndRefresh:
                startFetching()
                return cache.keys?[kid]
            case .fetch:
                await startFetching().value
                hasFetched = true
            case .unknownKey where isFetching && !hasFetched, .unavailable where isFetching && !hasFetched:
                // A fetch that another request has started during this call may bring the key.
                await fetching?.value
                hasFetched = true
            case .unknownKey:
                return nil
            case .unavailable:
                throw Problem(.unavailable)
            }
        }
    }

    @discardableResult
    private func startFetching() -> Task<Void, Never> {
        if let fetching { return fetching }
        let task = Task {
            do {
                let keys = try await fetch()
                unusable.report(keys.unusable)
                cache.fetched(keys, now: .now)
            } catch {
                cache.failed(now: .now)
                failures.increment()
                logger.warning("Apple's keys could not be fetched", metadata: ["error": "\(error)"])
            }
            fetching = nil
        }
        fetching = task
        return task
    }
}

/// Apple's public keys, as published at one moment.
struct AppleKeySet: Sendable {
    private let verifiers: [VerbatimString: SignatureVerifier]
    /// The entries that were skipped.
    let unusable: [UnusableKey]

    struct Malformed: Error {}

    /// Reads a JWK set (RFC 7517 §5). Keys that are not for RS256 signatures, and those that cannot be used, are left
    /// out, as the RFC asks.
    ///
    /// - Throws: if no key is left, or if two keys of one type have the same key id.
    init(jwks: Data) throws {
        let reading = try VerificationKeySet.read(jwks: Array(jwks))
        var verifiers: [VerbatimString: SignatureVerifier] = [:]
        for kid in reading.keys.keyIDs {
            guard let key = reading.keys[kid, .rs256] else { continue }
            verifiers[VerbatimString(kid)] = try SignatureVerifier(key)
        }
        guard !verifiers.isEmpty else { throw Malformed() }
        self.verifiers = verifiers
        unusable = reading.unusable
    }

    subscript(kid: String) -> SignatureVerifier? {
        verifiers[VerbatimString(kid)]
    }
}
