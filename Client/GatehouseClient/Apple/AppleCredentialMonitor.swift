import GatehouseContracts

/// Ends a session that began with Sign in with Apple when the user revokes the consent. It checks the consent when the
/// session begins or is restored, and whenever the system reports a revocation.
///
/// ```swift
/// await client.session.add(AppleCredentialMonitor(session: client.session))
/// ```
///
/// The effect of each state on the session:
/// - revoked: the session ends (``SignOutReason/appleCredentialRevoked``).
/// - not found: the client verifies the session with the server (`GET /v1/auth/me`), and the session continues if it is
///   valid. The device may now be signed in to another Apple account, or to none, which does not end the session.
/// - transferred: no effect. The server moves its users to the other team without involving the app.
/// - unknown to the system: no effect.
actor AppleCredentialMonitor: SessionCompanion {
    /// Weak, because the session retains its companions.
    private weak var session: GatehouseSession?
    private let credentials: any AppleCredentials
    private var following: Task<Void, Never>?

    init(session: GatehouseSession, credentials: any AppleCredentials) {
        self.session = session
        self.credentials = credentials
    }

    #if canImport(AuthenticationServices)
        /// Uses the information of this device.
        init(session: GatehouseSession) { self.init(session: session, credentials: SystemAppleCredentials()) }
    #endif

    func sessionBegan(_ user: User) {
        following?.cancel()
        following = Task { [credentials, weak self] in
            // Each check runs in its own task, because ending the session cancels this one.
            await credentials.onRevocation { [weak self] in Task { await self?.check() } }
        }
        Task { await check() }
    }

    func sessionEnded(_ reason: SignOutReason) {
        following?.cancel()
        following = nil
    }

    /// Checks the consent with the system, and ends the session if it was revoked.
    func check() async {
        guard let session, let userID = await session.appleUserID,
            let state = try? await credentials.state(of: userID)
        else { return }
        session.configuration.telemetry.record(TelemetryEvent(.appleCredential, reason: state.rawValue))
        // The session may belong to another user by now.
        guard await session.appleUserID == userID else { return }
        switch state {
        case .authorized, .transferred: break
        case .notFound: await session.check()
        // If the store could not be cleared, the session has ended for this process. The next process checks it again.
        case .revoked: try? await session.end(.appleCredentialRevoked)
        }
    }
}

extension GatehouseSession {
    /// Apple's identifier of the user, if the session began with Sign in with Apple.
    var appleUserID: String? { machine.current?.appleUserID }
}

extension TelemetryEvent.Name {
    /// The state of the user's consent was checked; `reason` is the system's answer.
    public static let appleCredential = Self("auth.apple.credential")
}
