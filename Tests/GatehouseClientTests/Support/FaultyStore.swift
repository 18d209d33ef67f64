import Foundation

@testable import GatehouseClient

/// A store in memory that fails when a test says so.
actor FaultyStore: TokenStore {
    private(set) var data: Data?
    private(set) var saves = 0
    var loadFailure: TokenStoreError?
    var saveFailure: TokenStoreError?

    init(data: Data? = nil) { self.data = data }

    func fail(load: TokenStoreError? = nil, save: TokenStoreError? = nil) {
        (loadFailure, saveFailure) = (load, save)
    }

    func set(_ data: Data?) { self.data = data }

    func load() async throws(TokenStoreError) -> Data? {
        if let loadFailure { throw loadFailure }
        return data
    }

    func save(_ data: Data) async throws(TokenStoreError) {
        if let saveFailure { throw saveFailure }
        self.data = data
        saves += 1
    }

    func unlock(reason: String) async throws(TokenStoreError) {
        if loadFailure?.code == .userPresenceNeeded { loadFailure = nil }
    }

    /// What a new process would find, whichever server it is of.
    var stored: StoredState? {
        guard var state = data.flatMap({ try? StoredState(data: $0) }) else { return nil }
        state.origin = nil
        return state
    }
}
