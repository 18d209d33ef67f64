import Contracts
import Foundation

/// The session of one user on one device: restored at launch, renewed before it is needed, ended once.
///
/// It ends when the user ends it, here or in another process that shares the store, and when the server refuses the refresh
/// token that is the current one. Beside that it ends with the user's consent to sign in with Apple, where an
/// ``AppleCredentialMonitor`` looks after that, and when what is stored is damaged beyond reading. ``SignOutReason`` says
/// which. No lost answer, killed process, wrong clock, locked device or missing network signs anybody out. What has been
/// renewed is stored before anybody sees it; a token that could not be stored is asked for again, and the server gives the
/// same one.
public actor Session {
    let configuration: GatehouseConfiguration
    let api: API
    var machine = SessionMachine()
    /// The one refresh, in a task that no caller cancels.
    var refreshing: Refreshing?
    /// Before this moment no refresh is begun: the server asked to wait.
    var patience: Patience?
    private var listeners = SessionListeners()
    var companions = SessionCompanions()
    private var restoring: Task<TokenStoreError?, Never>?
    /// The last piece of work on the store; the next one follows it.
    var storeWork: Task<Void, Never>?
    /// Whether the server is still to be asked whether the session that was restored holds.
    var isUnchecked = false
    /// The question that is under way, the logouts that are, and what waits for the network.
    var checking: Task<Void, Never>?
    var sending: Task<Void, Never>?
    var following: Task<Void, Never>?

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

    /// Where the session stands now.
    public var state: SessionState { machine.state }

    /// Whether new tokens are being fetched right now. Nothing needs to be shown of that: requests go on with the old
    /// token, or wait.
    public var isRefreshing: Bool { refreshing != nil }

    /// The state, and each change from now on, for any number of listeners. It ends with the client.
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

    func publish() { listeners.tell(machine.state) }

    // MARK: - Restoring

    /// Reads what is stored, once; whatever needs the session calls it first.
    ///
    /// Afterwards, in the background: the server is asked whether the session still holds, unless the configuration says
    /// no, and told of logouts that it has missed. What cannot be done without a network is done when it returns.
    ///
    /// - Throws: ``GatehouseError/Kind/locked`` or `storage` where the store cannot be read now; later it is tried again.
    public func start() async throws(GatehouseError) {
        guard !machine.isRestored else { return }
        followNetwork()
        let task = restoring ?? Task { await self.restore() }
        restoring = task
        let error = await task.value
        restoring = nil
        if let error { throw GatehouseError(error) }
    }

    /// Lets the user prove who they are where the store asks for it, and reads the store.
    ///
    /// - Parameter reason: what the system's dialog says, in the user's language.
    public func unlock(reason: String) async throws(GatehouseError) {
        do { try await configuration.store.unlock(reason: reason) } catch { throw GatehouseError(error) }
        try await start()
    }

    private func restore() async -> TokenStoreError? {
        let result: Result<StoredState?, TokenStoreError>
        do throws(TokenStoreError) {
            result = .success(try await readStore())
        } catch {
            result = .failure(error)
        }
        // Somebody may have signed in meanwhile: what they have stored counts, whatever was read here.
        guard !machine.isRestored else { return nil }
        switch result {
        case .success(let state):
            machine.restored(state, wall: configuration.clock.wall, monotonic: configuration.clock.monotonic)
        case .failure(let error):
            machine.failedToRestore(error)
        }
        publish()
        if !machine.isRestored, case .failure(let error) = result { return error }
        if let user = machine.state.user {
            tellBegan(user)
            isUnchecked = configuration.checksAtLaunch
            if isUnchecked { Task { await self.check() } }
        }
        Task { await self.sendLogouts() }
        return nil
    }
}

// What the server is asked and told of the session, at launch and whenever the network returns.
extension Session {
    /// Asks the server whether the session still holds, and who the user is by now. Who asks while that is under way waits
    /// for the same answer.
    func check() async {
        let task = checking ?? Task { await self.ask() }
        checking = task
        await task.value
    }

    private func ask() async {
        defer { checking = nil }
        guard isOnline else { return }
        let epoch = machine.epoch
        do throws(GatehouseError) {
            let user = try await call("GET", "/v1/auth/me", returning: User.self)
            if machine.epoch == epoch { isUnchecked = false }
            try await update(user)
        } catch {
            // What ends a session has ended it; all else is tried with the next request, or when the network returns.
        }
    }

    /// Tells the server of sessions that ended here while it could not be told.
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
                    isRepeatable: true, returning: API.Nothing.self)
            } catch {
                // Later: when the network returns, at the next launch, or with the next session.
                return
            }
            sent.append(logout)
            machine.finished(logout)
            _ = try? await exclusively { try await self.change(.finishedLogout(logout)) }
        }
    }

    /// Calls one of Gatehouse's own routes in the user's name: a token that is refused is renewed once.
    func call<Body: Decodable & Sendable>(
        _ method: String, _ path: String, json: (any Encodable & Sendable)? = nil, isRepeatable: Bool? = nil,
        returning: Body.Type = Body.self
    ) async throws(GatehouseError) -> Body {
        try await answer(method, path, json: json, isRepeatable: isRepeatable, returning: Body.self).body
    }

    /// The same with the time of the answer, for what begins a session.
    func answer<Body: Decodable & Sendable>(
        _ method: String, _ path: String, json: (any Encodable & Sendable)? = nil, isRepeatable: Bool? = nil,
        returning: Body.Type = Body.self
    ) async throws(GatehouseError) -> API.Answer<Body> {
        let token = try await accessToken()
        do {
            return try await api.call(
                method, path, json: json, bearer: token, isRepeatable: isRepeatable, returning: Body.self)
        } catch  where error.isRefusedBearer {
            let renewed = try await accessToken(after: token)
            configuration.telemetry.record(TelemetryEvent(.replay))
            return try await api.call(
                method, path, json: json, bearer: renewed, isRepeatable: isRepeatable, returning: Body.self)
        }
    }

    // MARK: - The network

    /// Makes good, whenever the network returns, what could not be done without one. The session does not live longer for
    /// it, and it ends with the session.
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
        // What is under way may have begun without a network.
        await checking?.value
        if isUnchecked, machine.current != nil { await check() }
        await sending?.value
        await sendLogouts()
    }

    private var isOnline: Bool { configuration.connectivity.isOnline(for: configuration.baseURL) }
}

extension GatehouseError {
    /// Whether the server has refused the access token, and may take a new one.
    var isRefusedBearer: Bool {
        code == ErrorCode.tokenExpired.rawValue || code == ErrorCode.invalidToken.rawValue
    }

    init(_ error: TokenStoreError) {
        switch error.code {
        case .deviceLocked, .userPresenceNeeded, .userPresenceRefused: self.init(.locked, reason: "\(error)")
        default: self.init(.storage, reason: "\(error)")
        }
    }
}

// How a session begins and ends, here and in other processes that share the store.
extension Session {
    /// Somebody has signed in; it is stored before anybody sees it.
    func begin(_ answer: API.Answer<AuthResponse>, appleUserID: String? = nil) async throws(GatehouseError) {
        var session = StoredSession(answer, wall: configuration.clock.wall)
        session.appleUserID = appleUserID
        let new = session
        // What is stored still is read first: an earlier session's logout is not to be forgotten.
        if !machine.isRestored { try? await start() }
        // The sign-in does not wait for it. Whoever does hears how this ends.
        refreshing?.task.cancel()
        do {
            let deviceToken = answer.body.deviceToken.map(Redacted.init)
            try await exclusively { try await self.replace(by: new, TokenLife(answer), deviceToken) }
        } catch {
            throw GatehouseError.of(error)
        }
        tellBegan(new.user)
        Task { await self.sendLogouts() }
    }

    private func replace(
        by session: StoredSession, _ life: TokenLife, _ deviceToken: Redacted<String>?
    ) async throws {
        var next = machine
        next.begin(session, life)
        try await change(.signIn(session, deviceToken: deviceToken), pendingLogouts: next.pendingLogouts)
        machine.begin(session, life)
        isUnchecked = false
        patience = nil
        publish()
    }

    /// Ends the session: companions are told, the store is emptied, the server is told now or later. It goes on to its end
    /// where the caller is cancelled meanwhile.
    ///
    /// - Throws: `storage` where the store could not be emptied. The session has ended all the same: the server is told,
    ///   and what is stored serves nobody then.
    func end(_ reason: SignOutReason) async throws(GatehouseError) {
        if let failure = await Task(operation: { await self.endWholly(reason) }).value { throw failure }
    }

    private func endWholly(_ reason: SignOutReason) async -> GatehouseError? {
        do throws(GatehouseError) { try await start() } catch { return error }
        guard machine.current != nil else { return nil }
        let epoch = machine.epoch
        await tellWillEnd(reason).value
        guard machine.epoch == epoch, let session = machine.current else { return nil }
        let tellsServer = reason != .accountDeleted
        machine.end(reason, tellingServer: tellsServer)
        refreshing?.task.cancel()
        refreshing = nil
        var failure: GatehouseError?
        do {
            try await exclusively { _ = try await self.change(.signOut(session, tellsServer: tellsServer)) }
        } catch {
            failure = GatehouseError.of(error)
        }
        publish()
        configuration.telemetry.record(TelemetryEvent(.sessionEnded, reason: "\(reason)"))
        await configuration.clock.within(.seconds(5)) { await self.sendLogouts() }
        return failure
    }

    /// The session has ended elsewhere; the store knows already.
    func ended(_ reason: SignOutReason) {
        machine.end(reason, tellingServer: false)
        refreshing = nil
        patience = nil
        publish()
        configuration.telemetry.record(TelemetryEvent(.sessionEnded, reason: "\(reason)"))
        tellWillEnd(reason)
    }

    /// Another process has signed somebody in; the store knows already.
    func began(_ session: StoredSession, _ life: TokenLife) {
        machine.begin(session, life)
        publish()
        tellBegan(session.user)
    }

    /// What the server says of the user now.
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
        // What other processes have made of the session the next refresh finds out.
        guard case .write = try await change(.user(session)), machine.epoch == epoch else { return }
        machine.update(user)
        publish()
    }
}
