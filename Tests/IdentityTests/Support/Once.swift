import Synchronization

/// True the first time.
final class Once: Sendable {
    private let taken = Mutex(false)

    var isTaken: Bool { taken.withLock { $0 } }

    @discardableResult
    func take() -> Bool {
        taken.withLock { isTaken in
            defer { isTaken = true }
            return !isTaken
        }
    }
}
