package import AsyncHTTPClient
package import Foundation
package import GatehouseAccessTokens
package import GatehouseLimits
import GatehouseServiceKit
package import Logging
import NIOCore
import ServiceLifecycle

/// Updates an issuer's keys in the key store from a JWKS or a file: at the start, every few minutes, and when a token
/// names an unknown key.
///
/// One fetch runs at a time. Fetched keys stay while later fetches fail, up to `maximumStaleness`.
package struct KeyFetcher<Issuer: KeyIssuer>: Service {
    private let store: IssuerKeys<Issuer>
    /// The issuer's index in the store.
    private let issuer: Int
    /// Seconds for which keys stay trusted while fetches fail.
    private let maximumStaleness: Int64
    private let logger: Logger
    /// The time between two periodic fetches.
    private let interval: Duration
    /// Reads the keys. It must time out after a few seconds.
    private let fetch: @Sendable () async throws -> VerificationKeySet

    package var backoff = Backoff(base: .milliseconds(200), maximum: .seconds(5))

    /// - Parameters:
    ///   - issuer: its index in the store.
    ///   - maximumStaleness: seconds for which keys stay trusted while fetches fail.
    ///   - interval: the time between two periodic fetches.
    ///   - fetch: reads the keys. It must time out after a few seconds.
    package init(
        store: IssuerKeys<Issuer>, issuer: Int = 0, maximumStaleness: Int64, logger: Logger, interval: Duration,
        fetch: @escaping @Sendable () async throws -> VerificationKeySet
    ) {
        self.store = store
        self.issuer = issuer
        self.maximumStaleness = maximumStaleness
        self.logger = logger
        self.interval = interval
        self.fetch = fetch
    }

    /// The time between two fetches of keys that are trusted for this many seconds. It leaves time for failed fetches.
    package static func interval(ofStaleness maximumStaleness: Int64) -> Duration {
        .seconds(min(300, maximumStaleness / 3))
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await fetchPeriodically() }
                group.addTask { for await _ in store.demanded(of: issuer) { try? await fetchOnce() } }
            }
        }
    }

    private func fetchPeriodically() async {
        await Periodic(every: interval, backoff: backoff).run {
            // A token demanded a fetch, which may fail, so check again soon.
            guard store.beginFetch(of: issuer) else { return .after(backoff.base) }
            try await fetchOnce()
            return .afterInterval
        }
    }

    private func fetchOnce() async throws {
        do {
            try store.replace(
                try await fetch(), of: issuer, trustedUntil: Int64(Date.now.timeIntervalSince1970) + maximumStaleness)
        } catch {
            logger.warning(
                "could not fetch the keys of access tokens",
                metadata: ["issuer": "\(store.issuers[issuer].issuer)", "error": "\(error)"])
            store.fetchFailed(of: issuer)
            throw error
        }
    }
}

/// A trusted issuer of access tokens and its verifier.
package protocol KeyIssuer: Sendable {
    /// The verifier of the issuer's tokens.
    associatedtype Verifier: Sendable

    /// `iss`
    var issuer: String { get }

    /// - Parameters:
    ///   - keys: the issuer's current keys.
    ///   - leeway: the tolerance for `exp` and `nbf` in seconds.
    /// - Throws: `cryptography`, when OpenSSL does not accept a key.
    func verifier(with keys: VerificationKeySet, leeway: Int64) throws(AccessTokenError) -> Verifier
}

/// The keys that an issuer publishes as a JWKS (RFC 7517 §5), at any of several addresses.
package struct PublishedKeys: Sendable {
    /// The most bytes of a JWKS.
    static let maximumBytes = 1 << 20

    private let addresses: [URL]
    private let client: HTTPClient
    private let unusable: UnusableKeys
    /// For the whole response: a publisher that stalls in the middle of it must not delay the next fetch.
    private let timeout: Duration

    struct NoAddress: Error {}

    struct UnexpectedStatus: Error {
        var status: Int
    }

    /// - Parameters:
    ///   - addresses: the fetch uses any of them.
    ///   - unusable: reports the keys that are skipped.
    ///   - timeout: for the whole response.
    package init(
        addresses: [URL], client: HTTPClient, unusable: UnusableKeys, timeout: Duration = .seconds(5)
    ) {
        self.addresses = addresses
        self.client = client
        self.unusable = unusable
        self.timeout = timeout
    }

    /// - Throws: also when the response is not a JWKS with a usable key, or has more than 1 MiB.
    package func read() async throws -> VerificationKeySet {
        guard let address = addresses.randomElement() else { throw NoAddress() }
        let response = try await client.exchange(
            HTTPClientRequest(url: address.absoluteString), upTo: Self.maximumBytes, before: .after(timeout))
        guard response.status == 200 else { throw UnexpectedStatus(status: response.status) }
        let reading = try VerificationKeySet.read(jwks: Array(response.body.readableBytesView))
        unusable.report(reading.unusable)
        return reading.keys
    }
}
