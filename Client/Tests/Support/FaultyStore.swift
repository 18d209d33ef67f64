import Foundation

@testable import GatehouseClient

/// A store in memory that fails when a test says so.
actor FaultyStore: TokenStore {
    private(set) var data: Data?
    private(set) var saves = 0
    var loadFailure: TokenStoreError?
    var saveFailure: TokenStoreError?
    private var loadGate: Gate?
    private var saveGate: Gate?
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(data: Data? = nil) { self.data = data }

    func fail(load: TokenStoreError? = nil, save: TokenStoreError? = nil) {
        (loadFailure, saveFailure) = (load, save)
    }

    func set(_ data: Data?) { self.data = data }

    /// From now on a caller that loads, or saves, waits there. What a load finds is decided before.
    func hold(loads loadGate: Gate? = nil, saves saveGate: Gate? = nil) {
        (self.loadGate, self.saveGate) = (loadGate, saveGate)
    }

    func load() async throws(TokenStoreError) -> Data? {
        let (failure, data) = (loadFailure, data)
        await loadGate?.pass()
        if let failure { throw failure }
        return data
    }

    func save(_ data: Data) async throws(TokenStoreError) {
        await saveGate?.pass()
        if let saveFailure { throw saveFailure }
        self.data = data
        saves += 1
    }

    func unlock(reason: String) async throws(TokenStoreError) {
        if loadFailure?.code == .userPresenceNeeded { loadFailure = nil }
    }

    /// Outlives the launches, as the bytes do.
    private(set) var hasSignOutPending = false
    var signOutFailure: TokenStoreError?

    func failSignOut(with error: TokenStoreError?) { signOutFailure = error }

    /// What an earlier installation has left.
    private var discarded: Data?

    /// The app is installed again: the store is empty, and knows what it has discarded.
    func reinstall() { (data, discarded) = (nil, data) }

    func takeDiscarded() async -> Data? {
        defer { discarded = nil }
        return discarded
    }

    func isSignOutPending() -> Bool { hasSignOutPending }

    func setSignOutPending(_ isPending: Bool) async throws(TokenStoreError) {
        if let signOutFailure { throw signOutFailure }
        hasSignOutPending = isPending
    }

    /// One after the other, as with a store that keeps processes apart.
    func withExclusiveAccess<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        if isTaken { await withCheckedContinuation { waiting.append($0) } } else { isTaken = true }
        defer { if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() } }
        try Task.checkCancellation()
        return try await body()
    }

    /// What a new process would find, whichever server it is of.
    var stored: StoredState? {
        guard var state = data.flatMap({ try? StoredState(data: $0) }) else { return nil }
        state.origin = nil
        return state
    }
}
