public import Contracts

/// What runs beside a session and has to stop with it: synchronisation, push registration, a web socket.
public protocol SessionCompanion: Sendable {
    /// Somebody has signed in, or a stored session has been restored. It may go on for as long as the session does: nobody
    /// waits for it, and its task is cancelled when the session ends.
    func sessionBegan(_ user: User) async

    /// The session ends. It is called when ``sessionBegan(_:)`` has returned, three seconds after that was cancelled at
    /// the latest. Where the user ends the session, requests in their name are still answered here; after three more
    /// seconds it is cancelled, and the session ends without it.
    func sessionWillEnd(_ reason: SignOutReason) async
}
