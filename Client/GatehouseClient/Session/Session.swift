import GatehouseContracts
import Foundation

/// The session of one user on one device. It is restored at launch, and its tokens are refreshed before they expire.
///
/// The session ends in these cases: the user signs out, here or in another process that shares the store; the server
/// refuses the current refresh token; the stored session is damaged. ``SignOutReason`` names the case. Lost answers,
/// killed processes, wrong clocks, locked devices and missing networks do not end a session. New tokens are stored
/// before any caller sees them. If storing fails, the client refreshes again, and the server returns the same token.
public actor GatehouseSession {
    let configuration: GatehouseConfiguration
    let api: API
    var machine = SessionMachine()
    /// The single refresh in progress. Callers cannot cancel its task.
    var refreshing: Refreshing?
    /// Set after a failed refresh.
    var refreshDelay: RefreshDelay?
    private var listeners = SessionListeners()
    var companions = SessionCompanions()
    var restoring: Task<TokenStoreError?, Never>?
    /// The last store operation. The next one runs after it.
    var storeWork: Task<Void, Never>?
    /// Locks the store. Reading and unlocking wait for it, because until then the store is still open.
    var locking: Task<Void, Never>?
    /// Whether the restored session still has to be verified with the server.
    var isUnchecked = false
    /// When the last verification began (monotonic clock).
    var checkedAt: Duration?
    /// The verification in progress, the logouts in progress, and the task that waits for the network.
    var checking: Task<Void, Never>?
    var sending: Task<Void, Never>?
    var following: Task<Void, Never>?
    /// The epoch in which the server may have deleted the account without the client knowing.
    let unansweredDeletion = Locked<Int?>(nil)
    /// The epoch that is being verified because the device has reported a revoked consent to Sign in with Apple.
    var appleRevocation: Int?

    init(configuration: GatehouseConfiguration, api: API) {
        self.configuration = configuration
        self.api = api
    }

    deinit {
        following?.cancel()
        for entry in companions.entries { entry.beginning?.cancel() }
        listeners.finish()
    }

    // MARK: - State

    /// The current state.
    public var state: SessionState { machine.state }

    /// Whether a refresh is in progress. Apps need not show it: requests use the old token meanwhile, or wait.
    public var isRefreshing: Bool { refreshing != nil }

    /// The current state and every later change, for any number of listeners. The stream ends with the client.
    public nonisolated func changes() -> AsyncStream<SessionState> {
        let (stream, continuation) = AsyncStream.makeStream(of: SessionState.self)
        Task { await listen(continuation) }
        return stream
    }

    private func listen(_ continuation: AsyncStream<SessionState>.Continuation) {
        let number = listeners.add(continuation, now: machine.state)
        continuation.onTermination = { [weak self] _ in Task { [weak self] in await self?.forget(listener: number) } }
    }

    private func forget(listener number: Int) { listeners.remove(number) }

    func publish() { listeners.deliver(machine.state) }

    // MARK: - Restoring

    /// Reads the stored session once. Every operation that needs the session calls this first.
    ///
    /// Afterwards, in the background, the client verifies the session with the server, unless the configuration
    /// disables that, and sends pending logouts. Without a network, it does so when the network returns.
    ///
    /// - Throws: ``GatehouseError/Kind/locked`` or `storage` if the store cannot be read now. A later call retries.
    public func start() async throws(GatehouseError) {
        guard !machine.isRestored else { return }
        followNetwork()
        let task = restoring ?? Task { await self.restore() }
        restoring = task
        if let error = await task.value { throw GatehouseError(error) }
    }

    /// Authenticates the user if the store requires it, and reads the store.
    ///
    /// - Parameter reason: the text of the system's dialog, in the user's language.
    public func unlock(reason: String) async throws(GatehouseError) {
        do { try await authenticate(reason: reason) } catch { throw GatehouseError(error) }
        try await start()
    }

    private func restore() async -> TokenStoreError? {
        defer { restoring = nil }
        let epoch = machine.epoch
        await locking?.value
        var isSignOutPending = false
        let result: Result<StoredState?, TokenStoreError>
        do {
            // The first read of a process may write too: it moves an item of an earlier version, and discards one that
            // a reinstallation has left. Another process' session must not get lost between the two.
            (isSignOutPending, result) = try await exclusively {
                let isPending = (try? await self.configuration.store.isSignOutPending()) ?? false
                return (isPending, await self.readResult())
            }
        } catch {
            result = .failure(error as? TokenStoreError ?? TokenStoreError(.failed, "\(error)"))
        }
        // A sign-in or a sign-out during this read takes precedence over the result.
        guard !machine.isRestored, machine.epoch == epoch else { return nil }
        switch result {
        case .success(let state):
            machine.restored(state, wall: configuration.clock.wall, monotonic: configuration.clock.monotonic)
            if state?.session?.isDeletionRequested == true { unansweredDeletion.withLock { $0 = machine.epoch } }
        case .failure(let error):
            machine.failedToRestore(error, isSignOutPending: isSignOutPending)
        }
        publish()
        if !machine.isRestored, case .failure(let error) = result { return isSignOutPending ? nil : error }
        if isSignOutPending { _ = try? await exclusively { try await self.finishSignOut() } }
        if let user = machine.state.user {
            notifyBegan(user)
            isUnchecked = configuration.checksAtLaunch
            if isUnchecked { Task { await self.check() } }
        }
        Task { await self.sendLogouts() }
        return nil
    }

    private func readResult() async -> Result<StoredState?, TokenStoreError> {
        do throws(TokenStoreError) {
            return .success(try await readStoreAfterLaunch())
        } catch {
            return .failure(error)
        }
    }
}

// Verification of the session and pending logouts, at launch and when the network returns.
extension GatehouseSession {
    /// Verifies the session with the server and updates the user. Concurrent callers share one request.
    func check() async {
        let task = checking ?? Task { await self.verifySession() }
        checking = task
        await task.value
    }

    private func verifySession() async {
        // The device's report explains the result of this verification, and of no later one.
        defer { (checking, appleRevocation) = (nil, nil) }
        guard isOnline else { return }
        let epoch = machine.epoch
        checkedAt = configuration.clock.monotonic
        do throws(GatehouseError) {
            let user = try await call("GET", "/v1/auth/me", returning: User.self)
            if machine.epoch == epoch { isUnchecked = false }
            try await update(user)
        } catch {
            // An error that ends the session has ended it already. Other errors: the next request or the network's
            // return retries.
        }
    }

    /// Sends the logouts that could not be sent when their sessions ended.
    func sendLogouts() async {
        guard !machine.pendingLogouts.isEmpty else { return }
        let task = sending ?? Task { await self.sendEach() }
        sending = task
        await task.value
    }

    private func sendEach() async {
        defer { sending = nil }
        var sent: [Redacted<String>] = []
        while let logout = machine.pendingLogouts.first(where: { !sent.contains($0) }) {
            guard isOnline else { return }
            do {
                _ = try await api.call(
                    "POST", "/v1/auth/logout", json: LogoutRequest(refreshToken: logout.value),
                    isIdempotent: true, returning: API.Nothing.self)
            } catch {
                // Retry when the network returns, at the next launch, or with the next session.
                return
            }
            sent.append(logout)
            machine.finished(logout)
            _ = try? await exclusively { try await self.change(.finishedLogout(logout)) }
        }
    }

    /// Calls one of Gatehouse's own routes in the user's name. If the server refuses the access token, it is refreshed
    /// once.
    func call<Body: Decodable & Sendable>(
        _ method: String, _ path: String, json: (any Encodable & Sendable)? = nil, isIdempotent: Bool? = nil,
        returning: Body.Type = Body.self
    ) async throws(GatehouseError) -> Body {
        try await answer(method, path, json: json, isIdempotent: isIdempotent, returning: Body.self).body
    }

    /// Like ``call(_:_:json:isIdempotent:returning:)``, but also returns the answer's times, which a new session needs.
    ///
    /// - Parameter unanswered: as in ``API/exchange(to:isIdempotent:by:unanswered:_:)``.
    func answer<Body: Decodable & Sendable>(
        _ method: String, _ path: String, json: (any Encodable & Sendable)? = nil, isIdempotent: Bool? = nil,
        returning: Body.Type = Body.self, unanswered: @escaping @Sendable () -> Void = {}
    ) async throws(GatehouseError) -> API.Answer<Body> {
        try await api.withinBudget { [api, configuration] deadline throws(GatehouseError) in
            let token = try await self.accessToken()
            do throws(GatehouseError) {
                return try await api.send(
                    method, path, json: json, bearer: token, isIdempotent: isIdempotent, by: deadline,
                    unanswered: unanswered)
            } catch  where error.isRefusedBearer {
                let renewed = try await self.accessToken(after: token)
                configuration.telemetry.record(TelemetryEvent(.replay))
                return try await api.send(
                    method, path, json: json, bearer: renewed, isIdempotent: isIdempotent, by: deadline,
                    unanswered: unanswered)
            }
        }
    }

    /// Deletes the account at the server and ends the session.
    ///
    /// If the answer is lost, the session may be gone with the account. The server then refuses the retry and the
    /// refresh, which ``ended(byRefusalOf:)`` takes for the deletion. The store keeps the request, because the process
    /// may end before the answer arrives.
    func deleteAccount() async throws(GatehouseError) {
        try await start()
        let epoch = machine.epoch
        await storeDeletion(isRequested: true)
        do throws(GatehouseError) {
            _ = try await answer("DELETE", "/v1/auth/account", returning: API.Nothing.self) { [unansweredDeletion] in
                unansweredDeletion.withLock { $0 = epoch }
            }
        } catch {
            if machine.state == .signedOut(reason: .accountDeleted) { return }
            // Any other refusal means that the account still exists.
            if let status = error.status, (400..<500).contains(status), status != 401, status != 429 {
                unansweredDeletion.withLock { $0 = nil }
            }
            if unansweredDeletion.withLock({ $0 }) != epoch { await storeDeletion(isRequested: false) }
            throw error
        }
        try await end(.accountDeleted)
    }

    /// Records in the store whether the server may have deleted the account. A failure is no reason not to delete it.
    private func storeDeletion(isRequested: Bool) async {
        guard let session = machine.current else { return }
        _ = try? await exclusively { try await self.change(.deletion(of: session, isRequested: isRequested)) }
    }

    // MARK: - The network

    /// Whenever the network returns, retries what failed without it. The task does not keep the session alive, and ends
    /// with it.
    func followNetwork() {
        guard following == nil else { return }
        following = Task { [weak self, changes = configuration.connectivity.changes] in
            for await isOnline in changes where isOnline {
                guard let self else { return }
                await self.networkReturned()
            }
        }
    }

    private func networkReturned() async {
        // A verification in progress may have begun without a network, so wait for it first.
        await checking?.value
        if isUnchecked, machine.current != nil { await check() }
        await sending?.value
        await sendLogouts()
    }

    private var isOnline: Bool { configuration.connectivity.isOnline(for: configuration.baseURL) }
}

extension GatehouseError {
    /// Whether the server has refused the access token, so that a new one may succeed.
    var isRefusedBearer: Bool {
        code == ErrorCode.tokenExpired.rawValue || code == ErrorCode.invalidToken.rawValue
    }

    init(_ error: TokenStoreError) {
        switch error.code {
        case .deviceLocked, .userPresenceNeeded, .userPresenceRefused, .userPresenceFailed:
            self.init(.locked, reason: "\(error)")
        case .userPresenceUnavailable: self.init(.unlockUnavailable, reason: "\(error)")
        default: self.init(.storage, reason: "\(error)")
        }
    }
}

// How a session begins and ends, here and in other processes that share the store.
extension GatehouseSession {
    /// Begins a session after a sign-in. The session is stored before any caller sees it.
    ///
    /// - Throws: `storage` or `locked` if the session could not be stored. It then ends at the server.
    func begin(_ answer: API.Answer<AuthResponse>, appleUserID: String? = nil) async throws(GatehouseError) {
        var session = StoredSession(answer, wall: configuration.clock.wall)
        session.appleUserID = appleUserID
        let new = session
        // Read the stored state first, so that an earlier session's pending logout is kept.
        if !machine.isRestored { try? await start() }
        // Cancel a refresh in progress: the sign-in does not wait for it. The result for callers that wait for the
        // refresh depends on this sign-in.
        refreshing?.task.cancel()
        do {
            let deviceToken = answer.body.deviceToken.map(Redacted.init)
            try await exclusively { try await self.replace(by: new, TokenLife(answer), deviceToken) }
        } catch {
            await revokeUnstored(new)
            throw GatehouseError.of(error)
        }
        Task { await self.sendLogouts() }
    }

    /// Ends a new session at the server that could not be stored, because no process can use its tokens. If the server
    /// cannot be reached, the logout is sent later while this process runs, or stored by the next change.
    private func revokeUnstored(_ session: StoredSession) async {
        guard machine.current?.refreshToken != session.refreshToken else { return }
        machine.addPendingLogouts([session.refreshToken])
        await configuration.clock.within(.seconds(5)) { await self.sendLogouts() }
    }

    private func replace(
        by session: StoredSession, _ life: TokenLife, _ deviceToken: Redacted<String>?
    ) async throws {
        var next = machine
        next.begin(session, life)
        try await change(.signIn(session, deviceToken: deviceToken), pendingLogouts: next.pendingLogouts)
        machine.begin(session, life)
        isUnchecked = false
        refreshDelay = nil
        publish()
        // Before a sign-out can follow: the companions hear of both in this order.
        notifyBegan(session.user)
    }

    /// Ends the session here at once. Then clears the store, notifies the companions and informs the server now or
    /// later. Cancelling the caller does not interrupt it.
    ///
    /// If the stored session is locked, the store records the sign-out. The server is informed when the session can be
    /// read.
    ///
    /// - Throws: `storage` if the store could not be cleared. The session has ended nevertheless: the server is
    ///   informed, and then the stored tokens are invalid. A locked session whose sign-out could not be recorded stays,
    ///   and the store's error is thrown.
    func end(_ reason: SignOutReason) async throws(GatehouseError) {
        if let failure = await Task(operation: { await self.performEnd(reason) }).value { throw failure }
    }

    private func performEnd(_ reason: SignOutReason) async -> GatehouseError? {
        do throws(GatehouseError) { try await start() } catch {
            guard error.kind == .locked else { return error }
            do { try await exclusively { try await self.recordSignOut() } } catch { return GatehouseError.of(error) }
        }
        let session = machine.current
        let informsServer = reason != .accountDeleted
        guard machine.end(reason, informingServer: informsServer) else { return nil }
        refreshing?.task.cancel()
        let notifications = finishEnd(reason)
        var failure: GatehouseError?
        if let session {
            do {
                try await exclusively { _ = try await self.change(.signOut(session, informsServer: informsServer)) }
            } catch {
                failure = GatehouseError.of(error)
            }
            await configuration.clock.within(.seconds(5)) { await self.sendLogouts() }
        }
        await notifications.value
        return failure
    }

    /// Records a sign-out in the store, unless the session could be read meanwhile.
    private func recordSignOut() async throws {
        if !machine.isRestored { try await configuration.store.setSignOutPending(true) }
    }

    /// Handles the end of the session elsewhere. The store is already up to date.
    func ended(_ reason: SignOutReason) {
        machine.end(reason, informingServer: false)
        finishEnd(reason)
    }

    /// Handles the server's refusal of the current refresh token.
    func ended(byRefusalOf session: StoredSession) {
        if unansweredDeletion.withLock({ $0 }) == machine.epoch { return ended(.accountDeleted) }
        if appleRevocation == machine.epoch { return ended(.appleCredentialRevoked) }
        let serverNow = configuration.clock.wall.addingTimeInterval(session.clockOffset)
        ended(serverNow >= session.refreshExpiresAt ? .expired : .endedByServer)
    }

    /// - Returns: a task that ends when all companions have finished or timed out.
    @discardableResult
    private func finishEnd(_ reason: SignOutReason) -> Task<Void, Never> {
        refreshing = nil
        refreshDelay = nil
        publish()
        configuration.telemetry.record(TelemetryEvent(.sessionEnded, reason: "\(reason)"))
        return notifyEnded(reason)
    }

    /// Handles a sign-in by another process. The store is already up to date.
    func began(_ session: StoredSession, _ life: TokenLife) {
        machine.begin(session, life)
        publish()
        notifyBegan(session.user)
    }

    /// Stores the server's current data of the user.
    func update(_ user: User) async throws(GatehouseError) {
        guard machine.current?.user.id == user.id, machine.current?.user != user else { return }
        let epoch = machine.epoch
        do {
            try await exclusively(isCancellable: true) { try await self.store(user, in: epoch) }
        } catch {
            throw GatehouseError.of(error)
        }
    }

    private func store(_ user: User, in epoch: Int) async throws {
        guard machine.epoch == epoch, var session = machine.current else { return }
        session.user = user
        // If another process has changed the session, the next refresh detects it.
        guard case .write = try await change(.user(session)), machine.epoch == epoch else { return }
        machine.update(user)
        publish()
    }
}
