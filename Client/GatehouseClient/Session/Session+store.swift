import Foundation

// What is read and written. One piece of work follows the other, within this process and, where the store can, among
// all that share it.
extension Session {
    func readStore() async throws(TokenStoreError) -> StoredState? {
        guard let data = try await configuration.store.load() else { return nil }
        let state = try StoredState(data: data)
        // Another server's tokens are none of this one's business: to show them to it would give them away.
        guard state.origin?.utf8.elementsEqual(configuration.origin.utf8) ?? true else { return nil }
        return state
    }

    /// Replaces what is stored. Logouts that another process has still to send are kept.
    ///
    /// Only within ``exclusively(_:)``.
    func writeStore(_ state: StoredState, finished: [Redacted<String>] = []) async throws(TokenStoreError) {
        var state = state
        // What cannot be read is replaced: it serves nobody.
        let others = (try? await readStore())?.pendingLogouts ?? []
        let known = Set((state.pendingLogouts + finished).map(\.value))
        state.pendingLogouts += others.filter { !known.contains($0.value) }
        state.origin = configuration.origin
        try await configuration.store.save(state.data())
    }

    /// Runs `body` when all earlier work on the store is done. Cancelling the caller cancels `body`.
    func exclusively<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let previous = storeWork
        let store = configuration.store
        let work = Task {
            await previous?.value
            return try await store.withExclusiveAccess(body)
        }
        storeWork = Task { _ = await work.result }
        return try await withTaskCancellationHandler {
            try await work.value
        } onCancel: {
            work.cancel()
        }
    }
}
