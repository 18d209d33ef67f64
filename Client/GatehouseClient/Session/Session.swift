import Contracts
import Foundation

/// The session of one user on one device: restored at launch, renewed before it is needed, ended once.
///
/// Its promise: it ends when the user ends it, or when the server refuses the refresh token that is the current one, and
/// by nothing else. No lost answer, killed process, wrong clock, locked device or missing network signs anybody out.
/// What has been renewed is stored before anybody sees it; a token that could not be stored is asked for again, and the
/// server gives the same one.
public actor Session {
    let configuration: GatehouseConfiguration
    let api: API
    var machine = SessionMachine()
    /// The one refresh, in a task that no caller cancels.
    var refreshing: Refreshing?
    /// Before this moment no refresh is begun: the server asked to wait.
    var patience: Patience?
    private var listeners = SessionListeners()
    private var companions: [any SessionCompanion] = []
    private var restoring: Task<TokenStoreError?, Never>?
    /// The last piece of work on the store; the next one follows it.
    var storeWork: Task<Void, Never>?

    init(configuration: GatehouseConfiguration, api: API) {
        self.configuration = configuration
        self.api = api
    }

    // MARK: - State

    /// Where the session stands now.
    public var state: SessionState { machine.state }

    /// The state, and each change from now on, for any number of listeners.
    public nonisolated func changes() -> AsyncStream<SessionState> {
        let (stream, continuation) = AsyncStream.makeStream(of: SessionState.self)
        Task { await listen(continuation) }
        return stream
    }

    private func listen(_ continuation: AsyncStream<SessionState>.Continuation) {
        let number = listeners.add(continuation, now: machine.state)
        continuation.onTermination = { _ in Task { await self.forget(listener: number) } }
    }

    private func forget(listener number: Int) { listeners.remove(number) }

    func publish() { listeners.tell(machine.state) }

    /// Something that begins and ends with the session. It hears at once of a session that is there.
    public func add(_ companion: any SessionCompanion) async {
        companions.append(companion)
        if let user = machine.state.user { await companion.sessionBegan(user) }
    }

    func tellCompanions(_ body: @escaping @Sendable (any SessionCompanion) async -> Void) async {
        let companions = companions
        guard !companions.isEmpty else { return }
        await configuration.clock.within(.seconds(3)) {
            await withTaskGroup(of: Void.self) { group in
                for companion in companions { group.addTask { await body(companion) } }
            }
        }
    }

    // MARK: - Restoring

    /// Reads what is stored, once; whatever needs the session calls it first.
    ///
    /// Afterwards, in the background: the server is asked whether the session still holds, unless the configuration says
    /// no, and told of logouts that it has missed.
    ///
    /// - Throws: ``GatehouseError/Kind/locked`` or `storage` where the store cannot be read now; later it is tried again.
    public func start() async throws(GatehouseError) {
        guard !machine.isRestored else { return }
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
        var failure: TokenStoreError?
        do throws(TokenStoreError) {
            let state = try await readStore()
            // Somebody may have signed in meanwhile.
            guard !machine.isRestored else { return nil }
            let clock = configuration.clock
            machine.restored(state, wall: clock.wall, monotonic: clock.monotonic)
        } catch {
            machine.failedToRestore(error)
            failure = error
        }
        publish()
        guard machine.isRestored else { return failure }
        if let user = machine.state.user {
            await tellCompanions { await $0.sessionBegan(user) }
            if configuration.checksAtLaunch { Task { await self.check() } }
        }
        Task { await self.sendLogouts() }
        return nil
    }
}
