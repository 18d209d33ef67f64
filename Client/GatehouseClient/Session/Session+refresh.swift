import Contracts
import Foundation

/// A refresh that is under way.
struct Refreshing: Sendable {
    var epoch: Int
    var task: Task<Result<AccessToken, GatehouseError>, Never>
}

/// No refresh before a moment, by the monotonic clock, and what callers are told meanwhile.
struct Patience: Sendable {
    var until: Duration
    var error: GatehouseError
}

extension Session {
    /// The bearer for a request: in memory as a rule. One that has expired is renewed first, one that will expire soon
    /// meanwhile.
    ///
    /// - Throws: `signedOut` or `sessionEnded` where there is no session, `locked` or `storage` where it cannot be read;
    ///   `offline`, `timedOut`, `unavailable` … where it could not be renewed: the session goes on.
    public func accessToken() async throws(GatehouseError) -> AccessToken {
        try await token(after: nil)
    }

    /// The bearer for a request that was refused with 401: a new one, unless somebody has had one since.
    ///
    /// - Parameter refused: the token that the request carried.
    public func accessToken(after refused: AccessToken) async throws(GatehouseError) -> AccessToken {
        try await token(after: refused)
    }

    /// A new bearer, whatever the present one is worth: one that tells what the server knows of the session by now.
    ///
    /// A refresh that is under way may have been answered before the server knew it: another one follows.
    func renewedAccessToken() async throws(GatehouseError) -> AccessToken {
        try await start()
        if let refreshing, refreshing.epoch == machine.epoch { _ = await refreshing.task.value }
        if case .refuse(let kind) = machine.advice(after: nil, at: configuration.clock.monotonic) {
            throw GatehouseError(kind)
        }
        return try await beginRefresh().task.value.get()
    }

    private func token(after refused: AccessToken?) async throws(GatehouseError) -> AccessToken {
        try await start()
        let now = configuration.clock.monotonic
        switch machine.advice(after: refused, at: now) {
        case .use(let token):
            return token
        case .useAndRefresh(let token):
            if patience.map({ $0.until <= now }) ?? true { _ = beginRefresh() }
            return token
        case .refresh:
            // One that is under way has asked already; a new one keeps to what the server said.
            if refreshing?.epoch != machine.epoch, let patience, patience.until > now, patience.error.retryAfter != nil
            {
                throw patience.error
            }
            return try await beginRefresh().task.value.get()
        case .refuse(let kind):
            throw GatehouseError(kind)
        }
    }

    /// The refresh that is under way, or a new one.
    private func beginRefresh() -> Refreshing {
        let epoch = machine.epoch
        if let refreshing, refreshing.epoch == epoch { return refreshing }
        let new = Refreshing(epoch: epoch, task: Task { await self.refresh(in: epoch) })
        refreshing = new
        return new
    }

    private func refresh(in epoch: Int) async -> Result<AccessToken, GatehouseError> {
        let clock = configuration.clock
        let begun = clock.monotonic
        let result: Result<AccessToken, GatehouseError>
        do {
            result = .success(try await exclusively(isCancellable: true) { try await self.rotate(in: epoch) })
        } catch {
            result = .failure(GatehouseError.of(error))
        }
        let latency = clock.monotonic - begun
        // Somebody signs in instead; whether that could be stored decides what those who wait are told.
        if Task.isCancelled, machine.epoch == epoch { await storeWork?.value }
        if refreshing?.epoch == epoch { refreshing = nil }
        guard machine.epoch == epoch else {
            // The session ended under it: nobody is to wait because of that.
            if case .failure(let error) = result, error.kind == .sessionEnded { return result }
            return .failure(GatehouseError(.signedOut))
        }
        if Task.isCancelled, case .failure = result {
            // None of those who wait was cancelled.
            return .failure(GatehouseError(.unavailable, reason: "a sign-in came between that could not be stored"))
        }
        switch result {
        case .success:
            patience = nil
            configuration.telemetry.record(TelemetryEvent(.refreshSuccess, latency: latency))
        case .failure(let error):
            let pause = error.retryAfter ?? .milliseconds(Int.random(in: 500...5000))
            patience = Patience(until: clock.monotonic + min(pause, .seconds(60)), error: error)
            configuration.telemetry.record(
                TelemetryEvent(.refreshFailure, reason: "\(error.kind)", latency: latency))
        }
        return result
    }

    /// One rotation: what another process has stored is taken; else the server is asked, and what it gives is stored
    /// before anybody sees it.
    private func rotate(in epoch: Int) async throws -> AccessToken {
        // Each round takes a token that another process has stored meanwhile: there are not many of those.
        for _ in 0..<4 {
            let mine = try current(in: epoch)
            if let token = try await adoptStored(in: epoch, besides: mine) { return token }
            let presented = try current(in: epoch)
            do {
                let answer = try await api.call(
                    "POST", "/v1/auth/refresh", json: RefreshRequest(refreshToken: presented.refreshToken.value),
                    isRepeatable: true, returning: AuthResponse.self)
                return try await keep(answer, following: presented, in: epoch)
            } catch let error as GatehouseError where error.code == ErrorCode.invalidRefreshToken.rawValue {
                _ = try current(in: epoch)
                // Only the token that is current ends a session: another process may have rotated this one away.
                if let stored = try await readStore()?.session, isFresher(stored, than: presented) { continue }
                // What cannot be written now is refused by the server at the next launch, too.
                _ = try? await change(.refusal(presented.refreshToken))
                ended(hasExpired(presented) ? .expired : .endedByServer)
                throw GatehouseError(.sessionEnded, code: error.code, requestID: error.requestID)
            }
        }
        throw GatehouseError(.unavailable, reason: "other processes renew the session without end")
    }

    private func hasExpired(_ session: StoredSession) -> Bool {
        configuration.clock.wall.addingTimeInterval(session.clockOffset) >= session.refreshExpiresAt
    }

    /// The session that was there when the work began; a late result of another one is dropped.
    private func current(in epoch: Int) throws(GatehouseError) -> StoredSession {
        guard machine.epoch == epoch, let session = machine.current else { throw GatehouseError(.signedOut) }
        return session
    }

    private func keep(
        _ answer: API.Answer<AuthResponse>, following old: StoredSession, in epoch: Int
    ) async throws -> AccessToken {
        _ = try current(in: epoch)
        var session = StoredSession(answer, wall: configuration.clock.wall)
        session.appleUserID = old.appleUserID
        let outcome = try await change(.renewal(session, of: old.refreshToken))
        // Who signed out meanwhile waits for this work on the store, and then overwrites it.
        _ = try current(in: epoch)
        if case .follow(let theirs) = outcome {
            try follow(theirs, instead: session)
            return AccessToken(try current(in: epoch).accessToken)
        }
        machine.renew(session, TokenLife(answer))
        publish()
        Task { await self.sendLogouts() }
        return AccessToken(session.accessToken)
    }

    /// Takes over what another process has made of the session.
    ///
    /// - Returns: its access token, if that still serves; `nil`: it is to be renewed.
    private func adoptStored(in epoch: Int, besides mine: StoredSession) async throws -> AccessToken? {
        let stored: StoredState?
        do throws(TokenStoreError) {
            stored = try await readStore()
        } catch  where error.code == .corrupt {
            stored = nil
        }
        // Nothing at all is no word of anybody's: a sign-out leaves a record. Ours goes on, and is stored again.
        guard let stored else { return nil }
        _ = try current(in: epoch)
        if let theirs = stored.session, theirs.user.id == mine.user.id, !isFresher(theirs, than: mine) { return nil }
        return try follow(stored.session, instead: mine)
    }

    /// Whether another process has gone on with the session from where this one stands. What is older than that came back
    /// from a backup, or from a process of an earlier version: to present its token would look like theft.
    private func isFresher(_ stored: StoredSession, than mine: StoredSession) -> Bool {
        stored.refreshToken != mine.refreshToken && stored.issuedAt >= mine.issuedAt
    }

    /// Goes on as another process has decided.
    ///
    /// - Returns: the access token, if it still serves.
    /// - Throws: `sessionEnded` where the session was not this user's any more.
    @discardableResult
    private func follow(_ stored: StoredSession?, instead mine: StoredSession) throws -> AccessToken? {
        let clock = configuration.clock
        guard let stored, stored.user.id == mine.user.id else {
            ended(.otherProcess)
            if let stored {
                began(stored, TokenLife(stored: stored, wall: clock.wall, monotonic: clock.monotonic))
            }
            // Whoever asked, asked in the name of the one who is gone.
            throw GatehouseError(.sessionEnded)
        }
        let life = TokenLife(stored: stored, wall: clock.wall, monotonic: clock.monotonic)
        machine.renew(stored, life)
        publish()
        return life.isOver(at: clock.monotonic) ? nil : AccessToken(stored.accessToken)
    }
}

extension StoredSession {
    init(_ answer: API.Answer<AuthResponse>, wall: Date) {
        let body = answer.body
        self.init(
            accessToken: Redacted(body.accessToken), refreshToken: Redacted(body.refreshToken),
            accessExpiresAt: body.expiresAt, accessLifetime: body.expiresIn, refreshExpiresAt: body.refreshExpiresAt,
            clockOffset: answer.serverDate.map { $0.timeIntervalSince(wall) } ?? 0, user: body.user)
    }
}

extension TokenLife {
    init(_ answer: API.Answer<AuthResponse>) {
        self.init(lifetime: .seconds(answer.body.expiresIn), sentAt: answer.sentAt)
    }
}

// What is read and written. One piece of work follows the other, within this process and, where the store can, among
// all that share it.
extension Session {
    /// What is stored for this server.
    func readStore() async throws(TokenStoreError) -> StoredState? {
        guard let data = try await configuration.store.load() else { return nil }
        let state = try StoredState(data: data)
        // Another server's tokens are none of this one's business: to show them to it would give them away.
        guard state.origin?.utf8.elementsEqual(configuration.origin.utf8) ?? true else { return nil }
        return state
    }

    /// What a sign-in says of this device: what the configuration says, and the token of an earlier sign-in.
    func device() async -> SessionDevice? {
        // A store that cannot be read now is no reason not to sign in.
        guard let token = try? await readStore()?.deviceToken else { return configuration.device }
        var device = configuration.device ?? SessionDevice()
        device.deviceToken = token.value
        return device
    }

    /// Reads what is stored, and writes what the rules of ``StoreChange`` make of it. Logouts that other processes have
    /// still to send are kept.
    ///
    /// Only within ``exclusively(isCancellable:_:)``.
    ///
    /// - Parameter pendingLogouts: those that this process knows of; by default the machine's.
    @discardableResult
    func change(
        _ change: StoreChange, pendingLogouts: [Redacted<String>]? = nil
    ) async throws(TokenStoreError) -> StoreChange.Outcome {
        let stored: StoredState?
        do throws(TokenStoreError) {
            stored = try await readStore()
        } catch {
            guard change.replacesUnreadable(error.code) else { throw error }
            stored = nil
        }
        let outcome = change.outcome(over: stored, pendingLogouts: pendingLogouts ?? machine.pendingLogouts)
        guard case .write(var state) = outcome else { return outcome }
        state.origin = configuration.origin
        try await configuration.store.save(state.data())
        machine.learn(of: state.pendingLogouts)
        return outcome
    }

    /// Runs `body` when all earlier work on the store is done. It is not cut short where the caller is cancelled, unless
    /// it may be: then it does not begin any more, or ends early.
    func exclusively<Value: Sendable>(
        isCancellable: Bool = false, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let previous = storeWork
        let store = configuration.store
        let work = Task {
            await previous?.value
            return try await store.withExclusiveAccess(body)
        }
        storeWork = Task { _ = await work.result }
        guard isCancellable else { return try await work.value }
        return try await withTaskCancellationHandler {
            try await work.value
        } onCancel: {
            work.cancel()
        }
    }

    /// Waits until nothing is under way that would be lost with the process: a refresh, what is to be stored, and for five
    /// seconds at most logouts that the server is being told of.
    ///
    /// A token that is about to expire is renewed in the background while requests go on. A process that ends meanwhile
    /// leaves the server with a token that it has given and nobody has stored. One such loss does no harm; a process that
    /// always ends right after its request would lose each, and in the end the session, which the server then takes for
    /// stolen. So call this before the process ends or is suspended: at the end of a command, and in an app's extension
    /// before its completion handler.
    public func settle() async {
        while true {
            if let refreshing {
                _ = await refreshing.task.value
                continue
            }
            let work = storeWork
            await work?.value
            if refreshing == nil, storeWork == work { break }
        }
        if let sending { await configuration.clock.within(.seconds(5)) { await sending.value } }
    }
}
