import Contracts
import Instruments
import JWTKit
import Logging

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
