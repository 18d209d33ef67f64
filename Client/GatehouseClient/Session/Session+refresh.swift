import GatehouseContracts
import Foundation

/// A refresh in progress.
struct Refreshing: Sendable {
    var epoch: Int
    var task: Task<Result<GatehouseAccessToken, GatehouseError>, Never>
}

/// Set after a failed refresh. Until the moment `until` (monotonic clock), no background refresh starts. If `error` has
/// a `retryAfter`, callers that need a new token get `error` until then.
struct RefreshDelay: Sendable {
    var until: Duration
    var error: GatehouseError
}

extension GatehouseSession {
    /// Returns the access token for a request, usually from memory. An expired token is refreshed first. A token that
    /// expires soon is refreshed in the background.
    ///
    /// - Throws: `signedOut` or `sessionEnded` if there is no session; `locked` or `storage` if the session cannot be
    ///   read; `offline`, `timedOut`, `unavailable` … if the token could not be refreshed. The session continues after
    ///   a failed refresh.
    public func accessToken() async throws(GatehouseError) -> GatehouseAccessToken {
        try await token(after: nil)
    }

    /// Returns the access token for repeating a request that the server refused with 401: a new token, unless another
    /// caller has already refreshed it.
    ///
    /// - Parameter refused: the token in the refused request.
    public func accessToken(after refused: GatehouseAccessToken) async throws(GatehouseError) -> GatehouseAccessToken {
        try await token(after: refused)
    }

    /// Returns a new access token even if the current one is valid. The new token carries what the server knows about
    /// the session now.
    ///
    /// The server may have answered a refresh in progress before its state changed, so this method starts another
    /// refresh after it.
    func renewedAccessToken() async throws(GatehouseError) -> GatehouseAccessToken {
        try await start()
        if let refreshing, refreshing.epoch == machine.epoch { _ = await refreshing.task.value }
        if case .refuse(let kind) = machine.advice(after: nil, at: configuration.clock.monotonic) {
            throw GatehouseError(kind)
        }
        return try await result(of: beginRefresh())
    }

    /// Adopts what another process has stored: newer tokens, or the end of the session. Call it when the app comes to
    /// the foreground; `GatehouseUI` does so. Without it, the next refresh does the same.
    public func reload() async {
        guard (try? await start()) != nil, machine.current != nil else { return }
        let epoch = machine.epoch
        // An end of the session is not an error here: the state shows it. An unreadable store is read again later.
        _ = try? await exclusively(isCancellable: true) {
            try await self.adoptStored(in: epoch, besides: self.current(in: epoch))
        }
    }

    private func token(after refused: GatehouseAccessToken?) async throws(GatehouseError) -> GatehouseAccessToken {
        try await start()
        let now = configuration.clock.monotonic
        switch machine.advice(after: refused, at: now) {
        case .use(let token):
            return token
        case .useAndRefresh(let token):
            if refreshDelay.map({ $0.until <= now }) ?? true { _ = beginRefresh() }
            return token
        case .refresh:
            // Join a refresh in progress. Do not start a new one before the server's `Retry-After` has passed.
            if refreshing?.epoch != machine.epoch, let refreshDelay, refreshDelay.until > now,
                refreshDelay.error.retryAfter != nil
            {
                throw refreshDelay.error
            }
            return try await result(of: beginRefresh())
        case .refuse(let kind):
            throw GatehouseError(kind)
        }
    }

    /// Waits for a refresh, for at most the budget of a call.
    private func result(of refreshing: Refreshing) async throws(GatehouseError) -> GatehouseAccessToken {
        try await api.withinBudget { _ throws(GatehouseError) in try await refreshing.task.value.get() }
    }

    /// Returns the refresh in progress, or starts one.
    private func beginRefresh() -> Refreshing {
        let epoch = machine.epoch
        if let refreshing, refreshing.epoch == epoch { return refreshing }
        let new = Refreshing(epoch: epoch, task: Task { await self.refresh(in: epoch) })
        refreshing = new
        return new
    }

    private func refresh(in epoch: Int) async -> Result<GatehouseAccessToken, GatehouseError> {
        let clock = configuration.clock
        let begun = clock.monotonic
        let result: Result<GatehouseAccessToken, GatehouseError>
        do {
            result = .success(try await exclusively(isCancellable: true) { try await self.rotate(in: epoch) })
        } catch {
            result = .failure(GatehouseError.of(error))
        }
        let latency = clock.monotonic - begun
        // A new sign-in cancels this refresh. The waiting callers' result depends on whether that sign-in could be
        // stored.
        if Task.isCancelled, machine.epoch == epoch { await storeWork?.value }
        if refreshing?.epoch == epoch { refreshing = nil }
        if case .locked = machine.phase { return .failure(GatehouseError(.locked)) }
        guard machine.epoch == epoch else {
            // The session ended during this refresh. Do not set a delay for the next session.
            if case .failure(let error) = result, error.kind == .sessionEnded { return result }
            return .failure(GatehouseError(.signedOut))
        }
        if Task.isCancelled, case .failure = result {
            // The waiting callers were not cancelled, so they must not see a cancellation error.
            return .failure(
                GatehouseError(.unavailable, reason: "a new sign-in interrupted the refresh and could not be stored"))
        }
        switch result {
        case .success:
            refreshDelay = nil
            configuration.telemetry.record(TelemetryEvent(.refreshSuccess, latency: latency))
        case .failure(let error):
            let pause = error.retryAfter ?? .milliseconds(500 + 4500 * configuration.random())
            refreshDelay = RefreshDelay(until: clock.monotonic + min(pause, .seconds(60)), error: error)
            configuration.telemetry.record(
                TelemetryEvent(.refreshFailure, reason: "\(error.kind)", latency: latency))
        }
        return result
    }

    /// Rotates the token once. Adopts tokens that another process has stored; otherwise refreshes at the server and
    /// stores the result before any caller sees it.
    private func rotate(in epoch: Int) async throws -> GatehouseAccessToken {
        // A round repeats only if another process has stored a newer token meanwhile, so a few rounds are enough.
        for _ in 0..<4 {
            let mine = try current(in: epoch)
            if let token = try await adoptStored(in: epoch, besides: mine) { return token }
            let presented = try current(in: epoch)
            do {
                let answer = try await api.call(
                    "POST", "/v1/auth/refresh", json: RefreshRequest(refreshToken: presented.refreshToken.value),
                    isIdempotent: true, returning: AuthResponse.self)
                return try await keep(answer, following: presented, in: epoch)
            } catch let error as GatehouseError where error.code == ErrorCode.invalidRefreshToken.rawValue {
                _ = try current(in: epoch)
                // A refusal ends the session only if the refused token is still current: another process may have
                // rotated it.
                if let stored = try await readStore()?.session, isFresher(stored, than: presented) { continue }
                // If this write fails, the server refuses the token again at the next launch.
                _ = try? await change(.refusal(presented.refreshToken))
                ended(byRefusalOf: presented)
                throw GatehouseError(.sessionEnded, code: error.code, requestID: error.requestID)
            }
        }
        throw GatehouseError(.unavailable, reason: "other processes keep refreshing the session")
    }

    /// Returns the session if it is still the one of `epoch`. A late result for an earlier session is dropped.
    private func current(in epoch: Int) throws(GatehouseError) -> StoredSession {
        guard machine.epoch == epoch, let session = machine.current else { throw GatehouseError(.signedOut) }
        return session
    }

    private func keep(
        _ answer: API.Answer<AuthResponse>, following old: StoredSession, in epoch: Int
    ) async throws -> GatehouseAccessToken {
        _ = try current(in: epoch)
        var session = StoredSession(answer, wall: configuration.clock.wall)
        session.appleUserID = old.appleUserID
        let outcome = try await change(.renewal(session, of: old.refreshToken))
        // A concurrent sign-out waits for this store access and overwrites it afterwards.
        _ = try current(in: epoch)
        if case .follow(let theirs) = outcome {
            try follow(theirs, instead: session)
            let session = try current(in: epoch)
            return GatehouseAccessToken(session.accessToken, of: session.user.id)
        }
        machine.renew(session, TokenLife(answer))
        // The server still knows the session, so the account has not been deleted.
        unansweredDeletion.withLock { $0 = nil }
        publish()
        Task { await self.sendLogouts() }
        return GatehouseAccessToken(session.accessToken, of: session.user.id, issuedAt: answer.sentAt)
    }

    /// Adopts the session state that another process has stored.
    ///
    /// - Returns: the stored access token if it is still valid; `nil` if it must be refreshed.
    private func adoptStored(in epoch: Int, besides mine: StoredSession) async throws -> GatehouseAccessToken? {
        let stored: StoredState?
        do throws(TokenStoreError) {
            stored = try await readStore()
        } catch  where error.code == .corrupt {
            stored = nil
        }
        // A missing record is not a sign-out, because a sign-out writes a record. Keep this session; it is stored again
        // later.
        guard let stored else { return nil }
        _ = try current(in: epoch)
        if let theirs = stored.session, theirs.user.id == mine.user.id, !isFresher(theirs, than: mine) { return nil }
        return try follow(stored.session, instead: mine)
    }

    /// Whether another process has continued the session from this process' state. An older state comes from a backup
    /// or from a process of an earlier version. Presenting its token would look like theft.
    private func isFresher(_ stored: StoredSession, than mine: StoredSession) -> Bool {
        stored.refreshToken != mine.refreshToken && stored.issuedAt >= mine.issuedAt
    }

    /// Adopts the outcome that another process has stored.
    ///
    /// - Returns: the access token if it is still valid.
    /// - Throws: `sessionEnded` if the stored session no longer belongs to this user.
    @discardableResult
    private func follow(_ stored: StoredSession?, instead mine: StoredSession) throws -> GatehouseAccessToken? {
        let clock = configuration.clock
        guard let stored, stored.user.id == mine.user.id else {
            ended(.otherProcess)
            if let stored {
                began(stored, TokenLife(stored: stored, wall: clock.wall, monotonic: clock.monotonic))
            }
            // The caller acted for the previous user, so it gets an error even if another user is signed in now.
            throw GatehouseError(.sessionEnded)
        }
        let life = TokenLife(stored: stored, wall: clock.wall, monotonic: clock.monotonic)
        machine.renew(stored, life)
        publish()
        return life.isOver(at: clock.monotonic) ? nil : GatehouseAccessToken(stored.accessToken, of: stored.user.id)
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

// Access to the store. Operations run one after the other within this process and, if the store supports locking, among
// all processes that share it.
extension GatehouseSession {
    /// Returns the stored state for this server. A session that an earlier installation has left is among its pending
    /// logouts.
    ///
    /// Call this only within ``exclusively(isCancellable:_:)``.
    func readStoreAfterLaunch() async throws(TokenStoreError) -> StoredState? {
        let state = try await readStore()
        guard let discarded = await configuration.store.takeDiscarded(), let left = try? self.state(in: discarded)
        else { return state }
        let logouts = left.pendingLogouts.adding(left.session.map { [$0.refreshToken] } ?? [])
        guard !logouts.isEmpty else { return state }
        var new = state ?? StoredState()
        new.pendingLogouts = new.pendingLogouts.adding(logouts)
        // So that a later process informs the server if this one cannot. If it cannot be stored, only this one tries.
        try? await save(new)
        return new
    }

    /// Returns the stored state for this server.
    func readStore() async throws(TokenStoreError) -> StoredState? {
        guard let data = try await configuration.store.load(), var state = try state(in: data) else { return nil }
        if let session = state.session, try await configuration.store.isSignOutPending() {
            state.session = nil
            state.pendingLogouts = state.pendingLogouts.adding([session.refreshToken])
        }
        return state
    }

    /// - Returns: `nil` if the state belongs to another server: its tokens must not be disclosed to this one.
    private func state(in data: Data) throws(TokenStoreError) -> StoredState? {
        let state = try StoredState(data: data)
        return state.origin?.utf8.elementsEqual(configuration.origin.utf8) ?? true ? state : nil
    }

    /// Stores the end of a session that could not be read when the user signed out.
    ///
    /// Call this only within ``exclusively(isCancellable:_:)``.
    func finishSignOut() async throws(TokenStoreError) {
        if let state = try await readStore() { try await save(state) }
    }

    private func save(_ state: StoredState) async throws(TokenStoreError) {
        var state = state
        state.origin = configuration.origin
        let store = configuration.store
        try await store.save(state.data())
        // The saved state contains the sign-out, or a later sign-in.
        if try await store.isSignOutPending() { try await store.setSignOutPending(false) }
    }

    /// Describes this device for a sign-in: the configured device with the device token of an earlier sign-in.
    func device() async -> SessionDevice? {
        // An unreadable store must not prevent a sign-in. The first read of a process needs the lock: see restore().
        try? await start()
        guard let token = try? await readStore()?.deviceToken else { return configuration.device }
        var device = configuration.device ?? SessionDevice()
        device.deviceToken = token.value
        return device
    }

    /// Reads the stored state and writes the result of ``StoreChange``. Keeps logouts that other processes still have
    /// to send.
    ///
    /// Call this only within ``exclusively(isCancellable:_:)``.
    ///
    /// - Parameter pendingLogouts: the logouts that this process knows; by default the machine's.
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
        guard case .write(let state) = outcome else { return outcome }
        try await save(state)
        machine.addPendingLogouts(state.pendingLogouts)
        return outcome
    }

    /// Runs `body` after all earlier store operations have finished. Cancelling the caller does not interrupt `body`,
    /// unless `isCancellable` is true: then `body` does not start, or ends early.
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

    /// Waits for work that would be lost if the process ended: a refresh, store writes and, for at most five seconds,
    /// logouts in progress.
    ///
    /// A token that is about to expire is refreshed in the background while requests continue. If the process ends
    /// during that refresh, the new token is never stored. A single loss is harmless. A process that always ends right
    /// after its request would lose every new token, until the server treats the session as stolen. Call this method
    /// before the process ends or is suspended: at the end of a command, or before the completion handler of an app
    /// extension.
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
