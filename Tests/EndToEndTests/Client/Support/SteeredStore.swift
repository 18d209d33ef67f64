import Foundation
import GatehouseClient

/// What a device keeps, which fails when a test says so. Launches of the same device share it.
actor SteeredStore: TokenStore {
    private(set) var data: Data?
    private var loadFailure: TokenStoreError?
    private var saveFailure: TokenStoreError?
    private var dropsSaves = false

    init(data: Data? = nil) { self.data = data }

    func fail(load: TokenStoreError? = nil, save: TokenStoreError? = nil) {
        (loadFailure, saveFailure) = (load, save)
    }

    /// From now on a save succeeds and leaves nothing: as if the process had died before it.
    func dropSaves(_ drops: Bool = true) { dropsSaves = drops }

    func replace(_ data: Data?) { self.data = data }

    func load() throws(TokenStoreError) -> Data? {
        if let loadFailure { throw loadFailure }
        return data
    }

    func save(_ data: Data) throws(TokenStoreError) {
        if let saveFailure { throw saveFailure }
        if !dropsSaves { self.data = data }
    }

    func unlock(reason: String) throws(TokenStoreError) {
        if loadFailure?.code == .userPresenceNeeded { loadFailure = nil }
    }
}
