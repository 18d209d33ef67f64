import Foundation
import GatehouseClient
import Synchronization
import TestKit

/// What a device keeps: it outlives the app's processes.
final class DeviceStorage: Sendable {
    private struct State {
        var data: Data?
        var isLocked = false
        var isFull = false
        var random: SeededGenerator
    }

    private let state: Mutex<State>

    init(random: SeededGenerator) { state = Mutex(State(random: random)) }

    var data: Data? {
        get { state.withLock { $0.data } }
        set { state.withLock { $0.data = newValue } }
    }

    /// Whether the device has not been unlocked since it was started.
    var isLocked: Bool {
        get { state.withLock { $0.isLocked } }
        set { state.withLock { $0.isLocked = newValue } }
    }

    var isFull: Bool {
        get { state.withLock { $0.isFull } }
        set { state.withLock { $0.isFull = newValue } }
    }

    /// Evenly drawn from 0..<1.
    func draw() -> Double { state.withLock { Double.random(in: 0..<1, using: &$0.random) } }
}

/// The storage as one process of the app sees it.
struct SimulatedStore: TokenStore {
    /// Of all saves, those in whose middle the process is killed: before or after the bytes are safe.
    static let killsPerSave = 0.01

    let storage: DeviceStorage
    let process: SimulatedProcess

    func load() throws(TokenStoreError) -> Data? {
        try check()
        return storage.data
    }

    func save(_ data: Data) throws(TokenStoreError) {
        try check()
        let kill = storage.draw()
        if storage.isFull { throw TokenStoreError(.failed, "errno 28") }
        if kill < Self.killsPerSave / 2 { process.kill() }
        try check()
        storage.data = data
        if kill < Self.killsPerSave { process.kill() }
        try check()
    }

    func delete() throws(TokenStoreError) {
        try check()
        storage.data = nil
    }

    private func check() throws(TokenStoreError) {
        if !process.isAlive { throw TokenStoreError(.failed, "killed") }
        if storage.isLocked { throw TokenStoreError(.deviceLocked, "OSStatus -25308") }
    }
}

/// Once it is killed it neither sends nor stores anything, whatever runs in it still.
final class SimulatedProcess: Sendable {
    private let alive = Mutex(true)

    var isAlive: Bool { alive.withLock { $0 } }

    func kill() { alive.withLock { $0 = false } }
}
