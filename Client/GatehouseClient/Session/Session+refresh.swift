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
            result = .success(try await exclusively { try await self.rotate(in: epoch) })
        } catch {
            result = .failure(GatehouseError.of(error))
        }
        let latency = clock.monotonic - begun
        guard machine.epoch == epoch else {
            // The session ended under it: nobody is to wait because of that.
            if case .failure(let error) = result, error.kind == .sessionEnded { return result }
            return .failure(GatehouseError(.signedOut))
        }
        refreshing = nil
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
                let stored = try await readStore()?.session
                if let stored, stored.refreshToken != presented.refreshToken { continue }
                // What cannot be written now is refused by the server at the next launch, too.
                try? await writeStore(StoredState(pendingLogouts: machine.pendingLogouts))
                await ended(hasExpired(presented) ? .expired : .endedByServer)
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
        try await writeStore(StoredState(session: session, pendingLogouts: machine.pendingLogouts))
        // Who signed out meanwhile waits for this work on the store, and then overwrites it.
        _ = try current(in: epoch)
        machine.renew(session, TokenLife(answer))
        publish()
        Task { await self.sendLogouts() }
        return AccessToken(session.accessToken)
    }

    /// Takes over what another process has made of the session.
    ///
    /// - Returns: its access token, if that still serves; `nil`: it is to be renewed.
    private func adoptStored(in epoch: Int, besides mine: StoredSession) async throws -> AccessToken? {
        // Nothing at all is no word of anybody's: a sign-out leaves a record. Ours goes on, and is stored again.
        guard let stored = try await readStore() else { return nil }
        _ = try current(in: epoch)
        guard let session = stored.session else {
            await ended(.otherProcess)
            throw GatehouseError(.sessionEnded)
        }
        guard session.refreshToken != mine.refreshToken else { return nil }
        let clock = configuration.clock
        let life = TokenLife(stored: session, wall: clock.wall, monotonic: clock.monotonic)
        guard session.user.id == mine.user.id else {
            await ended(.otherProcess)
            await began(session, life)
            // Whoever asked, asked in the name of the one who is gone.
            throw GatehouseError(.sessionEnded)
        }
        machine.renew(session, life)
        publish()
        return life.isOver(at: clock.monotonic) ? nil : AccessToken(session.accessToken)
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
