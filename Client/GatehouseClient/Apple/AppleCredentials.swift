/// The system's information about a user's consent to Sign in with Apple.
protocol AppleCredentials: Sendable {
    /// - Parameter userID: Apple's identifier of the user.
    /// - Throws: if the system does not know, for example without a network.
    func state(of userID: String) async throws -> AppleCredentialState

    /// Runs `body` whenever a consent is revoked, until the task is cancelled.
    func onRevocation(_ body: @escaping @Sendable () -> Void) async
}

/// Apple: `ASAuthorizationAppleIDProvider.CredentialState`.
enum AppleCredentialState: String, Sendable {
    case authorized
    /// The user has revoked the consent in the settings of their Apple account.
    case revoked
    /// The device has no record of the consent: it is signed in to another Apple account, or to none.
    case notFound
    /// The app has moved to another team of developers.
    case transferred
}
