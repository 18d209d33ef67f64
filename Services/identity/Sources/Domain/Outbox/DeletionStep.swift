/// The steps of a deletion after the account's rows are gone from identity's own database, in their order.
///
/// Each step may be done twice, so that a crash between doing one and noting it does no harm. Sessions are revoked a
/// second time, because a sign-in that was cut off between making its session and taking it back leaves one behind.
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

    /// Whether the step needs the user's id. From the first that does not on, the task does not hold it any more.
    var needsUser: Bool {
        self != .revokeAtApple
    }
}
