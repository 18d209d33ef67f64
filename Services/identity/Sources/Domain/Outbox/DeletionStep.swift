/// The steps that follow once an account's rows are gone from identity's own database, in their order.
///
/// Each may be done twice without harm, so a crash between doing one and noting it loses nothing. Sessions are revoked
/// once more after everything else that could still make one: a sign-in that was cut off between making its session and
/// taking it back leaves one behind.
enum DeletionStep: String, Codable, Sendable, CaseIterable {
    case revokeSessions
    case eraseDevices
    case sweepSessions
    case revokeAtApple

    var next: DeletionStep? {
        let all = Self.allCases
        let index = all.firstIndex(of: self)! + 1
        return index < all.count ? all[index] : nil
    }

    var destination: OutboxDestination {
        switch self {
        case .revokeSessions, .sweepSessions: .tokens
        case .eraseDevices: .devices
        case .revokeAtApple: .apple
        }
    }

    /// From here on the job needs to know the user no longer, and forgets.
    var needsUser: Bool {
        self != .revokeAtApple
    }
}
