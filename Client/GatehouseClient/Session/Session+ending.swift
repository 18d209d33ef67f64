import Contracts
import Foundation

// How a session begins and ends, and what the server is told of it.
extension Session {
    /// Somebody has signed in; it is stored before anybody sees it.
    func begin(_ answer: API.Answer<AuthResponse>, appleUserID: String? = nil) async throws(GatehouseError) {
        var session = StoredSession(answer, wall: configuration.clock.wall)
        session.appleUserID = appleUserID
        let new = session
        do {
            // What is stored still is read first: an earlier session's logout is not to be forgotten.
            if !machine.isRestored { try? await start() }
            refreshing?.task.cancel()
            try await exclusively { try await self.replace(by: new, TokenLife(answer)) }
        } catch {
            throw GatehouseError.of(error)
        }
        await tellCompanions { await $0.sessionBegan(new.user) }
        Task { await self.sendLogouts() }
    }

    private func replace(by session: StoredSession, _ life: TokenLife) async throws {
        var next = machine
        next.begin(session, life)
        try await writeStore(next.stored)
        machine.begin(session, life)
        patience = nil
        publish()
    }

    /// Ends the session: companions are told, the store is emptied, the server is told now or later.
    ///
    /// - Throws: `storage` where the store could not be emptied. The session has ended all the same: the server is told,
    ///   and what is stored serves nobody then.
    func end(_ reason: SignOutReason) async throws(GatehouseError) {
        if !machine.isRestored { try await start() }
        guard machine.current != nil else { return }
        let epoch = machine.epoch
        await tellCompanions { await $0.sessionWillEnd(reason) }
        guard machine.epoch == epoch else { return }
        machine.end(reason, tellingServer: reason != .accountDeleted)
        refreshing?.task.cancel()
        refreshing = nil
        let failure: GatehouseError?
        do {
            try await exclusively { try await self.writeStore(self.machine.stored) }
            failure = nil
        } catch {
            failure = GatehouseError.of(error)
        }
        publish()
        configuration.telemetry.record(TelemetryEvent(.sessionEnded, reason: "\(reason)"))
        await configuration.clock.within(.seconds(5)) { await self.sendLogouts() }
        if let failure { throw failure }
    }

    /// The session has ended elsewhere; the store knows already.
    func ended(_ reason: SignOutReason) async {
        machine.end(reason, tellingServer: false)
        refreshing = nil
        patience = nil
        publish()
        configuration.telemetry.record(TelemetryEvent(.sessionEnded, reason: "\(reason)"))
        await tellCompanions { await $0.sessionWillEnd(reason) }
    }

    /// Another process has signed somebody in; the store knows already.
    func began(_ session: StoredSession, _ life: TokenLife) async {
        machine.begin(session, life)
        publish()
        await tellCompanions { await $0.sessionBegan(session.user) }
    }

    /// What the server says of the user now.
    func update(_ user: User) async throws(GatehouseError) {
        guard machine.current?.user.id == user.id, machine.current?.user != user else { return }
        let epoch = machine.epoch
        do {
            try await exclusively { try await self.store(user, in: epoch) }
        } catch {
            throw GatehouseError.of(error)
        }
    }

    private func store(_ user: User, in epoch: Int) async throws {
        guard machine.epoch == epoch, var session = machine.current else { return }
        // Another process may have renewed the tokens: only the user is replaced.
        if let stored = try await readStore()?.session, stored.user.id == user.id { session = stored }
        session.user = user
        try await writeStore(StoredState(session: session, pendingLogouts: machine.pendingLogouts))
        guard machine.epoch == epoch else { return }
        machine.update(user)
        publish()
    }

    /// Asks the server whether a restored session still holds, and who the user is by now.
    func check() async {
        guard configuration.connectivity.isOnline else { return }
        do throws(GatehouseError) {
            try await update(call("GET", "/v1/auth/me", returning: User.self))
        } catch {
            // What ends a session has ended it; all else is tried with the next request.
        }
    }

    /// Tells the server of sessions that ended here while it could not be told.
    func sendLogouts() async {
        guard configuration.connectivity.isOnline else { return }
        for logout in machine.pendingLogouts {
            do {
                _ = try await api.call(
                    "POST", "/v1/auth/logout", json: LogoutRequest(refreshToken: logout.value),
                    isRepeatable: true, returning: API.Nothing.self)
            } catch {
                // Later: at the next launch, or with the next session.
                return
            }
            machine.finished(logout)
            try? await exclusively { try await self.writeStore(self.machine.stored, finished: [logout]) }
        }
    }

    /// Calls one of Gatehouse's own routes in the user's name: a token that is refused is renewed once.
    func call<Body: Decodable & Sendable>(
        _ method: String, _ path: String, json: (any Encodable & Sendable)? = nil, isRepeatable: Bool? = nil,
        returning: Body.Type = Body.self
    ) async throws(GatehouseError) -> Body {
        let token = try await accessToken()
        do {
            return try await api.call(
                method, path, json: json, bearer: token, isRepeatable: isRepeatable, returning: Body.self
            ).body
        } catch  where error.isRefusedBearer {
            let renewed = try await accessToken(after: token)
            configuration.telemetry.record(TelemetryEvent(.replay))
            return try await api.call(
                method, path, json: json, bearer: renewed, isRepeatable: isRepeatable, returning: Body.self
            ).body
        }
    }
}

extension GatehouseError {
    /// Whether the server has refused the access token, and may take a new one.
    var isRefusedBearer: Bool {
        code == ErrorCode.tokenExpired.rawValue || code == ErrorCode.invalidToken.rawValue
    }

    init(_ error: TokenStoreError) {
        switch error.code {
        case .deviceLocked, .userPresenceNeeded, .userPresenceRefused: self.init(.locked, reason: "\(error)")
        default: self.init(.storage, reason: "\(error)")
        }
    }
}
