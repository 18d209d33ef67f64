import Synchronization

/// The faults that Apple's half of the simulator can inject.
enum FaultMode: String, Codable, Sendable, CaseIterable {
    case none
    /// Answers every request with 503.
    case down
    /// Answers correctly after ten seconds.
    case slow
    /// Answers 200. The body comes when the fault ends.
    case silent
    /// Answers 200 and the beginning of a body, which continues when the fault ends.
    case stalled
    /// Answers 200 and a byte of a body now and then until the fault ends.
    case dripping
    /// Answers 200 with a web page instead of JSON.
    case garbage
}

/// The request of `POST /simulator/fault`.
struct FaultRequest: Codable, Sendable {
    var mode: FaultMode
}

/// The current fault.
final class Fault: Sendable {
    private let storage = Mutex(FaultMode.none)

    var mode: FaultMode {
        get { storage.withLock { $0 } }
        set { storage.withLock { $0 = newValue } }
    }
}
