import Foundation
import GatehouseInstruments
import GatehouseLimits
import GatehouseServiceContracts
import Logging
import Postgres
import Redis
import Synchronization

/// Refreshes a session: takes the refresh token of a request and returns its successor.
final class Refresher: Sendable {
    let rules: RotationRules
    let keys: RefreshKeyRing
    let store: SessionStore
    let lock: RaceLock
    let issuer: TokenIssuer
    let logger: Logger
    private let metrics: RefreshMetrics
    private let flights = SingleFlight<[UInt8], IssuedTokens>()
    private let concurrencyLimit: Mutex<ConcurrencyLimit>
    private let refreshLimit: TokenBuckets<String>?
    private let unknownKeyLimit: UnknownKeyLimit?

    /// - Parameters:
    ///   - refreshLimit: the limit for the refreshes of one session; `nil`: no limit.
    ///   - unknownKeyLimit: the limit for tokens whose key this replica does not have; `nil`: no limit.
    init(
        rules: RotationRules, keys: RefreshKeyRing, store: SessionStore, lock: RaceLock, issuer: TokenIssuer,
        logger: Logger, concurrencyLimit: ConcurrencyLimit = ConcurrencyLimit(),
        refreshLimit: TokenBuckets<String>? = nil, unknownKeyLimit: UnknownKeyLimit? = nil,
        metrics: (any MetricsFactory)? = nil
    ) {
        self.concurrencyLimit = Mutex(concurrencyLimit)
        self.refreshLimit = refreshLimit
        self.unknownKeyLimit = unknownKeyLimit
        self.metrics = RefreshMetrics(factory: metrics)
        self.rules = rules
        self.keys = keys
        self.store = store
        self.lock = lock
        self.issuer = issuer
        self.logger = logger
    }

    /// The client that waits for a refresh: its address, when its request arrived, and whether the connection is still
    /// open.
    struct Client: Sendable {
        var ipAddress: String?
        /// When the request arrived, as measured by the gateway and this replica.
        var arrivedAt = ContinuousClock.now
        /// Whether the client still waits for the response.
        var isAwaited: @Sendable () -> Bool = { true }
    }

    /// Concurrent requests with the same token share one result.
    ///
    /// - Throws: `Problem`: `INVALID_REFRESH_TOKEN`, `RATE_LIMITED`, `UNAVAILABLE`; `PostgresError`.
    func refresh(_ text: String, from client: Client) async throws -> IssuedTokens {
        guard let token = RefreshToken(text: text) else { throw refused(.malformed) }
        let authenticity = token.authenticity(under: keys)
        guard authenticity != .forged else { throw refused(.forged) }
        return try await flights.run(token.bytes) { [self] in
            let isGenuine = authenticity == .genuine
            // Without the key the session id is not authenticated. If forged tokens counted against that session, an
            // attacker could lock its user out. So such tokens count against the client's address.
            if isGenuine { try admit(token.sessionID) } else { try admitUnknownKey(from: client.ipAddress) }
            let start = ContinuousClock.now
            guard concurrencyLimit.withLock({ $0.begin(at: start) }) else {
                metrics.count(.overloaded)
                throw Problem(.unavailable)
            }
            defer { concurrencyLimit.withLock { $0.end(begunAt: start, at: .now) } }
            let acquisition = await lock.acquire(token.sessionID)
            defer { lock.release(acquisition) }
            do {
                let tokens = try await renew(token, isGenuine: isGenuine, acquisition, client)
                if !isGenuine { unknownKeyLimit?.refund(to: client.ipAddress) }
                return tokens
            } catch let error as PostgresError {
                metrics.count(.databaseFailed)
                throw error
            }
        }
    }

    private func admit(_ session: UUID) throws(Problem) {
        guard let refreshLimit, let retryAfter = refreshLimit.take(from: session.uuidString).decision.retryAfter
        else { return }
        metrics.count(.limited)
        throw Problem(.rateLimited, retryAfter: Int(retryAfter.components.seconds) + 1)
    }

    private func admitUnknownKey(from address: String?) throws(Problem) {
        do {
            try unknownKeyLimit?.take(from: address)
        } catch {
            metrics.count(.unknownKeyLimited)
            throw error
        }
    }

    private func renew(
        _ token: RefreshToken, isGenuine: Bool, _ acquisition: RaceLock.Acquisition, _ client: Client
    ) async throws -> IssuedTokens {
        if case .heldByAnother = acquisition {
            if let tokens = try await resultOfLockHolder(token, isGenuine: isGenuine, client) { return tokens }
        } else if let tokens = try await rotate(token, client) {
            return tokens
        }
        // Either the token is not the current one, or the holder of the lock has not rotated. Each round reads the row,
        // decides, and writes only if the row is unchanged. If another request changed it, the next round sees that
        // change.
        for _ in 0..<4 {
            if let tokens = try await readAndDecide(token, isGenuine: isGenuine, client) { return tokens }
        }
        metrics.count(.contended)
        throw Problem(.unavailable)
    }

    /// Waits up to 50 ms until the replica that holds the lock has changed the row, and acts on the row.
    ///
    /// - Returns: `nil` when that replica has not rotated in time, or when the row changed after it was read.
    private func resultOfLockHolder(
        _ token: RefreshToken, isGenuine: Bool, _ client: Client
    ) async throws -> IssuedTokens? {
        for pause in [Duration.milliseconds(10), .milliseconds(40)] {
            try await Task.sleep(for: pause)
            guard let record = try await store.read(token.sessionID) else {
                lock.countWait(foundResult: true)
                throw refused(.unknownSession, token, isGenuine: isGenuine)
            }
            let decision = decision(on: token, isGenuine: isGenuine, record, client)
            // The token is still current, so the other replica has not rotated yet.
            if decision == .rotate { continue }
            lock.countWait(foundResult: true)
            return try await act(on: decision, of: token, isGenuine: isGenuine, record, client)
        }
        lock.countWait(foundResult: false)
        return nil
    }

    private func readAndDecide(
        _ token: RefreshToken, isGenuine: Bool, _ client: Client
    ) async throws -> IssuedTokens? {
        guard let record = try await store.read(token.sessionID) else {
            throw refused(.unknownSession, token, isGenuine: isGenuine)
        }
        let decision = decision(on: token, isGenuine: isGenuine, record, client)
        return try await act(on: decision, of: token, isGenuine: isGenuine, record, client)
    }

    /// - Returns: `nil` when the row has changed since it was read.
    private func act(
        on decision: RotationDecision, of token: RefreshToken, isGenuine: Bool, _ record: SessionRecord,
        _ client: Client
    ) async throws -> IssuedTokens? {
        let (id, generation) = (token.sessionID, record.state.generation)
        switch decision {
        case .rotate:
            return try await rotate(token, client)
        case .repeatSuccessor:
            return try repeatSuccessor(of: token, in: record)
        case .countLateReplay:
            guard try await store.countLateReplay(of: id, generation: generation) else { return nil }
            metrics.count(.lateReplay)
            return try repeatSuccessor(of: token, in: record)
        case .revoke(let theft):
            // On a busy machine an app may give up, retry and rotate twice before this request runs. The app's own
            // abandoned request then looks like an attacker's. Only a client that still waits for the response proves
            // that two holders have the token.
            guard client.isAwaited() else {
                metrics.count(.abandoned)
                throw Problem(.unavailable)
            }
            guard try await store.revokeStolen(id, generation: generation, theft: theft) else { return nil }
            logger.warning(
                "A refresh token was used by two holders; the session was revoked.",
                metadata: ["session_id": "\(id)", "theft": "\(theft)"])
            metrics.count(.init(theft))
            throw Problem(.invalidRefreshToken)
        case .tryLater:
            metrics.count(.tryLater)
            throw Problem(.unavailable)
        case .refuse(let refusal):
            throw refused(refusal, token, isGenuine: isGenuine)
        }
    }

    private func decision(
        on token: RefreshToken, isGenuine: Bool, _ record: SessionRecord, _ client: Client
    ) -> RotationDecision {
        let age = ContinuousClock.now - client.arrivedAt
        let presented = RotationRules.Presented(
            generation: token.generation, hash: token.hash, isGenuine: isGenuine, age: age / .seconds(1))
        return rules.decide(on: presented, of: record.state, at: record.grant.now)
    }

    private func rotate(_ token: RefreshToken, _ client: Client) async throws -> IssuedTokens? {
        let successor = RefreshToken(sessionID: token.sessionID, generation: token.generation + 1, keys: keys)
        let grant = try await store.rotate(
            token, to: successor, sealed: keys.seal(successor, under: token), ipAddress: client.ipAddress)
        guard let grant else { return nil }
        metrics.count(.rotated)
        return try issuer.issue(successor, for: grant)
    }

    private func repeatSuccessor(of token: RefreshToken, in record: SessionRecord) throws -> IssuedTokens {
        let successor: RefreshToken
        do {
            successor = try keys.open(record.sealedCurrent ?? [], with: token)
        } catch {
            // Another replica may have the key that this one lacks. So the client gets an error that asks for a retry,
            // and stays signed in.
            logger.error(
                "A successor could not be opened.",
                metadata: ["session_id": "\(token.sessionID)", "error": "\(error)"])
            metrics.count(.broken)
            throw Problem(.unavailable)
        }
        metrics.count(.repeated)
        return try issuer.issue(successor, for: record.grant)
    }

    /// The error that ends the client's session. The log names the reason for a session whose id is authenticated.
    private func refused(
        _ refusal: RotationDecision.Refusal, _ token: RefreshToken? = nil, isGenuine: Bool = false
    ) -> Problem {
        metrics.count(.init(refusal))
        if isGenuine, let token {
            logger.info(
                "A refresh token was refused.",
                metadata: ["session_id": "\(token.sessionID)", "reason": "\(refusal)"])
        }
        return Problem(.invalidRefreshToken)
    }
}
