import Synchronization

/// How Apple's half of the simulator fails, on purpose.
enum FaultMode: String, Codable, Sendable, CaseIterable {
    case none
    /// 503 to everything.
    case down
    /// The right answer, ten seconds later.
    case slow
    /// 200 and the beginning of a body, which goes on when the fault has ended.
    case stalled
    /// 200, and a web page in the place of JSON.
    case garbage
}

/// What `POST /simulator/fault` is asked.
struct FaultRequest: Codable, Sendable {
    var mode: FaultMode
}

/// The fault of the moment.
final class Fault: Sendable {
    private let storage = Mutex(FaultMode.none)

    var mode: FaultMode {
        get { storage.withLock { $0 } }
        set { storage.withLock { $0 = newValue } }
    }
}
