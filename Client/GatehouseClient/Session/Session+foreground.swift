// The app's way to the background and back.
extension GatehouseSession {
    /// The least time between two verifications when the app comes to the foreground.
    static let checkInterval = Duration.seconds(60)

    /// Brings the session up to date: refreshes an access token that expires soon, and verifies the session with the
    /// server, at most once a minute. It does nothing if no user is signed in. `GatehouseUI` calls it when the app
    /// comes to the foreground.
    public func cameToForeground() async {
        guard machine.current != nil else { return }
        let now = configuration.clock.monotonic
        if checkedAt.map({ now - $0 >= Self.checkInterval }) ?? true {
            // The request gets its token in the same way.
            await check()
        } else {
            _ = try? await accessToken()
        }
    }

    /// Locks a session whose store requires the user's authentication: the tokens leave the memory, and calls throw
    /// `locked` until ``unlock(reason:)``. It does nothing with other stores. `GatehouseUI` calls it after some time in
    /// the background.
    ///
    /// A refresh in progress is cancelled. If the server has answered it already, it answers the next one with the same
    /// tokens.
    public func lock() async {
        let store = configuration.store
        guard store.requiresUserPresence, machine.current != nil else { return }
        machine.lock()
        refreshing?.task.cancel()
        refreshing = nil
        publish()
        let task = Task {
            do {
                // After the operations that still need what the store forgets.
                try await exclusively { await store.lock() }
            } catch {
                await store.lock()
            }
        }
        locking = task
        await task.value
    }

    /// Authenticates the user if the store requires it.
    package func authenticate(reason: String) async throws(TokenStoreError) {
        await locking?.value
        try await configuration.store.unlock(reason: reason)
        // A read that began before has found the store locked. The caller's start reads again.
        _ = await restoring?.value
    }
}
