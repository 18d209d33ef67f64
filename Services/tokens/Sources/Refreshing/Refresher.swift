import Contracts
import Foundation
import Logging
import Metrics
import Redis
import Synchronization

/// Refreshes a session: the whole way of a refresh token from the request to its successor.
final class Refresher: Sendable {
    let rules: RotationRules
    let keys: RefreshKeyRing
    let store: SessionStore
    let lock: RaceLock
    let issuer: TokenIssuer
    let logger: Logger
    private let metrics: RefreshMetrics
    private let flights = SharedFlights<[UInt8], IssuedTokens>()
    private let load: Mutex<ConcurrencyLimit>
    private let limit: RedisTokenBucket?
    private let strangers: StrangeTokenLimit?

    /// - Parameters:
    ///   - limit: refreshes of one session; `nil`: there is no limit.
    ///   - strangers: tokens under keys that are not known here; `nil`: there is no limit.
    init(
        rules: RotationRules, keys: RefreshKeyRing, store: SessionStore, lock: RaceLock, issuer: TokenIssuer,
        logger: Logger, load: ConcurrencyLimit = ConcurrencyLimit(), limit: RedisTokenBucket? = nil,
        strangers: StrangeTokenLimit? = nil, metrics: any MetricsFactory = MetricsSystem.factory
    ) {
        self.load = Mutex(load)
        self.limit = limit
        self.strangers = strangers
        self.metrics = RefreshMetrics(factory: metrics)
        self.rules = rules
        self.keys = keys
        self.store = store
        self.lock = lock
        self.issuer = issuer
        self.logger = logger
    }

    /// What a refresh needs to know of its request.
    struct Origin: Sendable {
        var ipAddress: String?
        /// When it came, as far as can be known.
        var arrivedAt = ContinuousClock.now
        var deadline: ContinuousClock.Instant
        /// Whether somebody still waits for the answer.
        var isAwaited: @Sendable () -> Bool = { true }
    }

    /// Requests with the same token at the same time share one answer.
    ///
    /// - Throws: `Problem`: `INVALID_REFRESH_TOKEN`, `RATE_LIMITED`, `UNAVAILABLE`; `PostgresError`.
    func refresh(_ text: String, from origin: Origin) async throws -> IssuedTokens {
        guard let token = RefreshToken(text: text) else { throw refused(.malformed) }
        let authenticity = token.authenticity(under: keys)
        guard authenticity != .forged else { throw refused(.forged) }
        return try await flights.run(token.bytes, until: origin.deadline) { [self] in
            let isGenuine = authenticity == .genuine
            // Of a token under a key that is not known here anybody could have made up the session.
            if isGenuine { try await admit(token.sessionID) } else { try admitStranger(from: origin.ipAddress) }
            let start = ContinuousClock.now
            guard load.withLock({ $0.begin(at: start) }) else {
                metrics.count(.overloaded)
                throw Problem(.unavailable)
            }
            defer { load.withLock { $0.end(begunAt: start, at: .now) } }
            let turn = await lock.take(token.sessionID)
            defer { lock.release(turn) }
            let tokens = try await renew(token, isGenuine: isGenuine, turn, origin)
            if !isGenuine { strangers?.giveBack(to: origin.ipAddress) }
            return tokens
        }
    }

    private func admit(_ session: UUID) async throws(Problem) {
        guard let limit, case .refused(let retryAfter) = await limit.take(session.uuidString) else { return }
        metrics.count(.limited)
        throw Problem(.rateLimited, retryAfter: Int(retryAfter.components.seconds) + 1)
    }

    private func admitStranger(from address: String?) throws(Problem) {
        do {
            try strangers?.take(from: address)
        } catch {
            metrics.count(.strangersLimited)
            throw error
        }
    }

    private func renew(
        _ token: RefreshToken, isGenuine: Bool, _ turn: RaceLock.Turn, _ origin: Origin
    ) async throws -> IssuedTokens {
        if case .second = turn {
            if let tokens = try await answerOfAnother(token, isGenuine: isGenuine, origin) { return tokens }
        } else if let tokens = try await rotate(token, origin) {
            return tokens
        }
        // Not the current token when we tried. Each round reads the row, decides, and writes on the condition that
        // the row is still as it was read.
        for _ in 0..<4 {
            if let tokens = try await readAndDecide(token, isGenuine: isGenuine, origin) { return tokens }
        }
        throw Problem(.unavailable)
    }

    /// Another replica holds the lock: by the time we look, its result is there.
    private func answerOfAnother(
        _ token: RefreshToken, isGenuine: Bool, _ origin: Origin
    ) async throws -> IssuedTokens? {
        for pause in [Duration.milliseconds(10), .milliseconds(40)] {
            try await Task.sleep(for: pause)
            guard let reading = try await store.read(token.sessionID, deadline: origin.deadline) else {
                lock.waited(found: true)
                throw refused(.unknownSession)
            }
            let decision = decision(on: token, isGenuine: isGenuine, reading, origin)
            // Still the current token: the other is not through.
            if decision == .rotate { continue }
            lock.waited(found: true)
            return try await act(on: decision, of: token, reading, origin)
        }
        lock.waited(found: false)
        return nil
    }

    private func readAndDecide(
        _ token: RefreshToken, isGenuine: Bool, _ origin: Origin
    ) async throws -> IssuedTokens? {
        guard let reading = try await store.read(token.sessionID, deadline: origin.deadline) else {
            throw refused(.unknownSession)
        }
        let decision = decision(on: token, isGenuine: isGenuine, reading, origin)
        return try await act(on: decision, of: token, reading, origin)
    }

    /// - Returns: `nil` when the row is no longer as it was read.
    private func act(
        on decision: RotationDecision, of token: RefreshToken, _ reading: SessionStore.Reading, _ origin: Origin
    ) async throws -> IssuedTokens? {
        let (id, generation, deadline) = (token.sessionID, reading.state.generation, origin.deadline)
        switch decision {
        case .rotate:
            return try await rotate(token, origin)
        case .repeatSuccessor:
            return try repeatSuccessor(of: token, in: reading)
        case .countLateReplay:
            guard try await store.countLateReplay(of: id, generation: generation, deadline: deadline) else {
                return nil
            }
            metrics.count(.lateReplay)
            return try repeatSuccessor(of: token, in: reading)
        case .revoke(let theft):
            // An app that gave up may have rotated twice since, while this waited for its turn on a busy machine. Only
            // who wants an answer shows that there are two holders.
            guard origin.isAwaited() else {
                metrics.count(.abandoned)
                throw Problem(.unavailable)
            }
            guard try await store.revokeStolen(id, generation: generation, theft: theft, deadline: deadline) else {
                return nil
            }
            logger.warning(
                "A refresh token was used by two holders; the session was revoked.",
                metadata: ["session_id": "\(id)", "theft": "\(theft)"])
            metrics.count(.init(theft))
            throw Problem(.invalidRefreshToken)
        case .tryLater:
            metrics.count(.tryLater)
            throw Problem(.unavailable)
        case .refuse(let refusal):
            throw refused(refusal)
        }
    }

    private func decision(
        on token: RefreshToken, isGenuine: Bool, _ reading: SessionStore.Reading, _ origin: Origin
    ) -> RotationDecision {
        let age = ContinuousClock.now - origin.arrivedAt
        let presented = RotationRules.Presented(
            generation: token.generation, hash: token.hash, isGenuine: isGenuine, age: age / .seconds(1))
        return rules.decide(on: presented, of: reading.state, at: reading.grant.now)
    }

    private func rotate(_ token: RefreshToken, _ origin: Origin) async throws -> IssuedTokens? {
        let successor = RefreshToken(sessionID: token.sessionID, generation: token.generation + 1, keys: keys)
        let grant = try await store.rotate(
            token, to: successor, sealed: keys.seal(successor, under: token), ipAddress: origin.ipAddress,
            deadline: origin.deadline)
        guard let grant else { return nil }
        metrics.count(.rotated)
        return try issuer.issue(successor, for: grant)
    }

    private func repeatSuccessor(of token: RefreshToken, in reading: SessionStore.Reading) throws -> IssuedTokens {
        let successor: RefreshToken
        do {
            successor = try keys.open(reading.sealedCurrent ?? [], with: token)
        } catch {
            // Never a reason to sign anybody out: another replica may have the key.
            logger.error(
                "A successor could not be opened.",
                metadata: ["session_id": "\(token.sessionID)", "error": "\(error)"])
            metrics.count(.broken)
            throw Problem(.unavailable)
        }
        metrics.count(.repeated)
        return try issuer.issue(successor, for: reading.grant)
    }

    private func refused(_ refusal: RotationDecision.Refusal) -> Problem {
        metrics.count(.init(refusal))
        return Problem(.invalidRefreshToken)
    }
}
