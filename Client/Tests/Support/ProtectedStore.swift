import Foundation

@testable import GatehouseClient

/// A store that the user has to unlock.
actor ProtectedStore: TokenStore {
    private var data: Data?
    private var isUnlocked = true
    private(set) var unlocks = 0

    nonisolated var requiresUserPresence: Bool { true }

    func load() throws(TokenStoreError) -> Data? {
        guard isUnlocked else { throw TokenStoreError(.userPresenceNeeded) }
        return data
    }

    func save(_ data: Data) { self.data = data }

    func unlock(reason: String) {
        if !isUnlocked { unlocks += 1 }
        isUnlocked = true
    }

    func lock() { isUnlocked = false }
}
