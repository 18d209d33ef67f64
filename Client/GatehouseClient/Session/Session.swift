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
