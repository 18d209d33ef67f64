import Synchronization

/// Until when clients go on.
final class Load: Sendable {
    private let state = Mutex(true)

    var goesOn: Bool { state.withLock { $0 } }

    func end() { state.withLock { $0 = false } }
}
