import GatehouseServiceContracts
import Synchronization

/// What an app keeps of its session, in the one place where all of its processes look.
final class StoredSession: Sendable {
    private let state: Mutex<(held: AuthResponse, rotations: Int)>

    init(_ session: AuthResponse) { state = Mutex((session, 0)) }

    var held: AuthResponse { state.withLock { $0.held } }

    /// How many successors were stored: the generation of the token that is held.
    var rotations: Int { state.withLock { $0.rotations } }

    /// Stores what was given for `token`, if that is what is stored still: as docs/reference/tokens.md asks of an app.
    func replace(_ token: String, by successor: AuthResponse) {
        state.withLock { state in
            guard state.held.refreshToken == token else { return }
            state = (successor, state.rotations + 1)
        }
    }
}
