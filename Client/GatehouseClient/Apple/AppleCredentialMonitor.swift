public import Contracts

/// Ends a session that began with Sign in with Apple once the user's consent is gone: looked at when the session begins
/// or is restored, and whenever the system says that a consent was taken back.
///
/// ```swift
/// await client.session.add(AppleCredentialMonitor(session: client.session))
/// ```
///
/// What the session hears:
/// - revoked: it ends (``SignOutReason/appleCredentialRevoked``).
/// - not found: the server is asked whether the session still holds (`GET /v1/auth/me`), and the session goes on if it
///   does. The device may be signed in to another Apple account by now, or to none: that ends nothing.
/// - transferred: nothing. The server moves its users to the other team; an app need not ask them anything.
/// - The system does not know: nothing.
public actor AppleCredentialMonitor: SessionCompanion {
    private let session: Session
    private let credentials: any AppleCredentials
    private var following: Task<Void, Never>?

    public init(session: Session, credentials: any AppleCredentials) {
        self.session = session
        self.credentials = credentials
    }

    #if canImport(AuthenticationServices)
        /// Asks this device.
        public init(session: Session) { self.init(session: session, credentials: SystemAppleCredentials()) }
    #endif

    public func sessionBegan(_ user: User) {
        following?.cancel()
        following = Task { [credentials, weak self] in
            // Each check in a task of its own: ending the session ends this one.
            await credentials.onRevocation { [weak self] in Task { await self?.check() } }
        }
        Task { await check() }
    }

    public func sessionWillEnd(_ reason: SignOutReason) {
        following?.cancel()
        following = nil
    }

    /// Asks the system, and ends the session where its answer says so.
    public func check() async {
        guard let userID = await session.appleUserID, let state = try? await credentials.state(of: userID) else {
            return
        }
        session.configuration.telemetry.record(TelemetryEvent(.appleCredential, reason: state.rawValue))
        // The session may be another's by now.
        guard await session.appleUserID == userID else { return }
        switch state {
        case .authorized, .transferred: break
        case .notFound: await session.check()
        // Where the store could not be emptied the session has ended for this process, and is looked at again by the next.
        case .revoked: try? await session.end(.appleCredentialRevoked)
        }
    }
}

extension Session {
    /// Apple's name for the user, where the session began with Sign in with Apple.
    var appleUserID: String? { machine.current?.appleUserID }
}

extension TelemetryEvent.Name {
    /// The system was asked for the state of the user's consent; `reason` is its answer.
    public static let appleCredential = Self("auth.apple.credential")
}
