/// What the system knows of a user's consent to sign in with Apple.
public protocol AppleCredentials: Sendable {
    /// - Parameter userID: Apple's name for the user.
    /// - Throws: where the system does not know, without a network for example.
    func state(of userID: String) async throws -> AppleCredentialState

    /// Runs `body` whenever a consent has been taken back, until the task is cancelled.
    func onRevocation(_ body: @escaping @Sendable () -> Void) async
}

/// Apple: `ASAuthorizationAppleIDProvider.CredentialState`.
public enum AppleCredentialState: String, Sendable {
    case authorized
    /// The user has taken the consent back in the settings of their Apple account.
    case revoked
    /// The device knows nothing of it: another Apple account is signed in there, or none.
    case notFound
    /// The app has moved to another team of developers.
    case transferred
}
