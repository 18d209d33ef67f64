import GatehouseContracts

/// Verifies a session that began with Sign in with Apple when the device reports that the user has revoked the consent.
/// It checks the consent when the session begins or is restored, and whenever the system reports a revocation.
///
/// ```swift
/// await client.session.add(AppleCredentialMonitor(session: client.session))
/// ```
///
/// The device alone never ends a session, because some devices report `revoked` right after a sign-in. Apple notifies
/// the server of a revocation. The effect of each state on the session:
/// - revoked: the client verifies the session with the server (`GET /v1/auth/me`), and the session continues if it is
///   valid. Otherwise it ends (``SignOutReason/appleCredentialRevoked``). In a simulator no effect: simulators report
///   this state for every user.
/// - not found: the client verifies the session with the server too. The device may now be signed in to another Apple
///   account, or to none.
/// - transferred: no effect. The server moves its users to the other team without involving the app.
/// - unknown to the system: no effect.
actor AppleCredentialMonitor: SessionCompanion {
    /// Weak, because the session retains its companions.
    private weak var session: GatehouseSession?
    private let credentials: any AppleCredentials
    private let isSimulator: Bool
    private var following: Task<Void, Never>?

    /// - Parameter isSimulator: whether the device is a simulator.
    init(session: GatehouseSession, credentials: any AppleCredentials, isSimulator: Bool) {
        self.session = session
        self.credentials = credentials
        self.isSimulator = isSimulator
    }

    #if canImport(AuthenticationServices)
        /// Uses the information of this device.
        init(session: GatehouseSession) {
            #if targetEnvironment(simulator)
                let isSimulator = true
            #else
                let isSimulator = false
            #endif
            self.init(session: session, credentials: SystemAppleCredentials(), isSimulator: isSimulator)
        }
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

    /// Checks the consent with the system, and verifies the session with the server unless the consent is valid.
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
        case .revoked: if !isSimulator { await session.checkAfterAppleRevocation() }
        }
    }
}

extension GatehouseSession {
    /// Apple's identifier of the user, if the session began with Sign in with Apple.
    var appleUserID: String? { machine.current?.appleUserID }

    /// Verifies the session with the server. If the server refuses it, the reason is the revocation that the device has
    /// reported.
    func checkAfterAppleRevocation() async {
        appleRevocation = machine.epoch
        await check()
    }
}

extension TelemetryEvent.Name {
    /// The state of the user's consent was checked; `reason` is the system's answer.
    public static let appleCredential = Self("auth.apple.credential")
}
