extension SignOutReason {
    /// What the screen to sign in says of it. `nil` for who signed out here: they know.
    public var text: InterfaceText? {
        switch self {
        case .user: nil
        case .endedByServer: .endedByServer
        case .expired: .endedUnused
        case .accountDeleted: .accountDeleted
        case .otherProcess: .endedElsewhere
        case .appleCredentialRevoked: .endedAtApple
        case .storeCorrupt: .endedUnreadable
        default: .ended
        }
    }
}
