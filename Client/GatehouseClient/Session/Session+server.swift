import Contracts
import Foundation

// What the server is asked and told of the session, at launch and whenever the network returns.
extension Session {
    /// Asks the server whether the session still holds, and who the user is by now. Who asks while that is under way waits
    /// for the same answer.
    func check() async {
        let task = checking ?? Task { await self.ask() }
        checking = task
        await task.value
    }

    private func ask() async {
        defer { checking = nil }
        guard isOnline else { return }
        let epoch = machine.epoch
        do throws(GatehouseError) {
            let user = try await call("GET", "/v1/auth/me", returning: User.self)
            if machine.epoch == epoch { isUnchecked = false }
            try await update(user)
        } catch {
            // What ends a session has ended it; all else is tried with the next request, or when the network returns.
        }
    }

    /// Tells the server of sessions that ended here while it could not be told.
    func sendLogouts() async {
        guard !machine.pendingLogouts.isEmpty else { return }
        let task = sending ?? Task { await self.sendEach() }
        sending = task
        await task.value
    }

    private func sendEach() async {
        defer { sending = nil }
        var sent: [Redacted<String>] = []
        while let logout = machine.pendingLogouts.first(where: { !sent.contains($0) }) {
            guard isOnline else { return }
            do {
                _ = try await api.call(
                    "POST", "/v1/auth/logout", json: LogoutRequest(refreshToken: logout.value),
                    isRepeatable: true, returning: API.Nothing.self)
            } catch {
                // Later: when the network returns, at the next launch, or with the next session.
                return
            }
            sent.append(logout)
            machine.finished(logout)
            _ = try? await exclusively { try await self.change(.finishedLogout(logout)) }
        }
    }

    /// Calls one of Gatehouse's own routes in the user's name: a token that is refused is renewed once.
    func call<Body: Decodable & Sendable>(
        _ method: String, _ path: String, json: (any Encodable & Sendable)? = nil, isRepeatable: Bool? = nil,
        returning: Body.Type = Body.self
    ) async throws(GatehouseError) -> Body {
        try await answer(method, path, json: json, isRepeatable: isRepeatable, returning: Body.self).body
    }

    /// The same with the time of the answer, for what begins a session.
    func answer<Body: Decodable & Sendable>(
        _ method: String, _ path: String, json: (any Encodable & Sendable)? = nil, isRepeatable: Bool? = nil,
        returning: Body.Type = Body.self
    ) async throws(GatehouseError) -> API.Answer<Body> {
        let token = try await accessToken()
        do {
            return try await api.call(
                method, path, json: json, bearer: token, isRepeatable: isRepeatable, returning: Body.self)
        } catch  where error.isRefusedBearer {
            let renewed = try await accessToken(after: token)
            configuration.telemetry.record(TelemetryEvent(.replay))
            return try await api.call(
                method, path, json: json, bearer: renewed, isRepeatable: isRepeatable, returning: Body.self)
        }
    }

    // MARK: - The network

    /// Makes good, whenever the network returns, what could not be done without one. The session does not live longer for
    /// it, and it ends with the session.
    func followNetwork() {
        guard following == nil else { return }
        following = Task { [weak self, changes = configuration.connectivity.changes] in
            for await isOnline in changes where isOnline {
                guard let self else { return }
                await self.networkReturned()
            }
        }
    }

    private func networkReturned() async {
        // What is under way may have begun without a network.
        await checking?.value
        if isUnchecked, machine.current != nil { await check() }
        await sending?.value
        await sendLogouts()
    }

    private var isOnline: Bool { configuration.connectivity.isOnline(for: configuration.baseURL) }
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
