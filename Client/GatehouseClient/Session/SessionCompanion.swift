public import Contracts

/// What runs beside a session and has to stop with it: synchronisation, push registration, a web socket.
public protocol SessionCompanion: Sendable {
    /// Somebody has signed in, or a stored session has been restored.
    func sessionBegan(_ user: User) async

    /// The session ends. Where the user ends it, requests in their name are still answered here; it has three seconds,
    /// then the session ends without it.
    func sessionWillEnd(_ reason: SignOutReason) async
}
