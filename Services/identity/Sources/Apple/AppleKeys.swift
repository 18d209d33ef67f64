import Bytes
import Contracts
import Foundation
import Instruments
import JWTKit
import Logging
import ServiceKit

/// Apple's keys. They are fetched when they are needed, by one task at a time (see ``AppleKeyCache``).
actor AppleKeys {
    private var cache: AppleKeyCache<AppleKeySet>
    private var fetching: Task<Void, Never>?
    private let fetch: @Sendable () async throws -> AppleKeySet
    private let logger: Logger
    private let failures = Counter(
        "identity_apple_keys_fetch_failed_total", help: "Attempts to fetch Apple's keys that failed.")

    init(
        rules: AppleKeyCache<AppleKeySet>.Rules = .init(), logger: Logger,
        fetch: @escaping @Sendable () async throws -> AppleKeySet
    ) {
        self.cache = AppleKeyCache(rules: rules)
        self.logger = logger
        self.fetch = fetch
    }

    /// The key of the id; `nil` when Apple has no such key.
    /// - Throws: `UNAVAILABLE` while Apple cannot be asked.
    func key(_ kid: String) async throws(Problem) -> (any JWTAlgorithm)? {
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
                // The fetch that another request has begun may bring the key.
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
    private let keys: [VerbatimString: any JWTAlgorithm]

    struct Malformed: Error {}

    /// Reads a JWK set (RFC 7517 §5). Keys that are not for RS256 signatures are left out, as the RFC asks. A key of
    /// fewer than 2048 bits or with another exponent than 65537, and a key id that is there twice, make the whole set
    /// unusable.
    init(jwks: Data) async throws {
        struct Document: Decodable {
            var keys: [Key]
        }
        struct Key: Decodable {
            var kty: String
            var kid: String?
            var use: String?
            var alg: String?
            var n: String?
            var e: String?
        }
        let document = try StrictJSON.decode(Document.self, from: Array(jwks))
        var keys: [VerbatimString: any JWTAlgorithm] = [:]
        for key in document.keys where key.kty == "RSA" && key.use ?? "sig" == "sig" && key.alg ?? "RS256" == "RS256" {
            guard let kid = key.kid, !kid.isEmpty, let n = key.n, let e = key.e, e == "AQAB",
                keys[VerbatimString(kid)] == nil
            else {
                throw Malformed()
            }
            let collection = JWTKeyCollection()
            let identifier = JWKIdentifier(string: kid)
            await collection.add(
                rsa: try Insecure.RSA.PublicKey(modulus: n, exponent: e), digestAlgorithm: .sha256, kid: identifier)
            keys[VerbatimString(kid)] = try await collection.getKey(for: identifier)
        }
        guard !keys.isEmpty else { throw Malformed() }
        self.keys = keys
    }

    subscript(kid: String) -> (any JWTAlgorithm)? {
        keys[VerbatimString(kid)]
    }
}
