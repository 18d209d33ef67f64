import Contracts
import Foundation

// How a session begins and ends, here and in other processes that share the store.
extension Session {
    /// Somebody has signed in; it is stored before anybody sees it.
    func begin(_ answer: API.Answer<AuthResponse>, appleUserID: String? = nil) async throws(GatehouseError) {
        var session = StoredSession(answer, wall: configuration.clock.wall)
        session.appleUserID = appleUserID
        let new = session
        // What is stored still is read first: an earlier session's logout is not to be forgotten.
        if !machine.isRestored { try? await start() }
        // The sign-in does not wait for it. Whoever does hears how this ends.
        refreshing?.task.cancel()
        do {
            let deviceToken = answer.body.deviceToken.map(Redacted.init)
            try await exclusively { try await self.replace(by: new, TokenLife(answer), deviceToken) }
        } catch {
            throw GatehouseError.of(error)
        }
        tellBegan(new.user)
        Task { await self.sendLogouts() }
    }

    private func replace(
        by session: StoredSession, _ life: TokenLife, _ deviceToken: Redacted<String>?
    ) async throws {
        var next = machine
        next.begin(session, life)
        try await change(.signIn(session, deviceToken: deviceToken), pendingLogouts: next.pendingLogouts)
        machine.begin(session, life)
        isUnchecked = false
        patience = nil
        publish()
    }

    /// Ends the session: companions are told, the store is emptied, the server is told now or later. It goes on to its end
    /// where the caller is cancelled meanwhile.
    ///
    /// - Throws: `storage` where the store could not be emptied. The session has ended all the same: the server is told,
    ///   and what is stored serves nobody then.
    func end(_ reason: SignOutReason) async throws(GatehouseError) {
        if let failure = await Task(operation: { await self.endWholly(reason) }).value { throw failure }
    }

    private func endWholly(_ reason: SignOutReason) async -> GatehouseError? {
        do throws(GatehouseError) { try await start() } catch { return error }
        guard machine.current != nil else { return nil }
        let epoch = machine.epoch
        await tellWillEnd(reason).value
        guard machine.epoch == epoch, let session = machine.current else { return nil }
        let tellsServer = reason != .accountDeleted
        machine.end(reason, tellingServer: tellsServer)
        refreshing?.task.cancel()
        refreshing = nil
        var failure: GatehouseError?
        do {
            try await exclusively { _ = try await self.change(.signOut(session, tellsServer: tellsServer)) }
        } catch {
            failure = GatehouseError.of(error)
        }
        publish()
        configuration.telemetry.record(TelemetryEvent(.sessionEnded, reason: "\(reason)"))
        await configuration.clock.within(.seconds(5)) { await self.sendLogouts() }
        return failure
    }

    /// The session has ended elsewhere; the store knows already.
    func ended(_ reason: SignOutReason) {
        machine.end(reason, tellingServer: false)
        refreshing = nil
        patience = nil
        publish()
        configuration.telemetry.record(TelemetryEvent(.sessionEnded, reason: "\(reason)"))
        tellWillEnd(reason)
    }

    /// Another process has signed somebody in; the store knows already.
    func began(_ session: StoredSession, _ life: TokenLife) {
        machine.begin(session, life)
        publish()
        tellBegan(session.user)
    }

    /// What the server says of the user now.
    func update(_ user: User) async throws(GatehouseError) {
        guard machine.current?.user.id == user.id, machine.current?.user != user else { return }
        let epoch = machine.epoch
        do {
            try await exclusively(isCancellable: true) { try await self.store(user, in: epoch) }
        } catch {
            throw GatehouseError.of(error)
        }
    }

    private func store(_ user: User, in epoch: Int) async throws {
        guard machine.epoch == epoch, var session = machine.current else { return }
        session.user = user
        // What other processes have made of the session the next refresh finds out.
        guard case .write = try await change(.user(session)), machine.epoch == epoch else { return }
        machine.update(user)
        publish()
    }
}
