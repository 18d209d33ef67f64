import Foundation
import GatehouseClient

/// What a device keeps. Launches of the same device share it.
actor SteeredStore: TokenStore {
    private(set) var data: Data?
    private var dropsSaves = false

    init(data: Data? = nil) { self.data = data }

    /// From now on a save succeeds and leaves nothing: as if the process had died before it.
    func dropSaves(_ drops: Bool = true) { dropsSaves = drops }

    func replace(_ data: Data?) { self.data = data }

    func load() -> Data? { data }

    func save(_ data: Data) {
        if !dropsSaves { self.data = data }
    }
}
