import Contracts
import Foundation

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
