import Contracts
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// tokens, as identity sees it: sessions are made, taken back and revoked, and fail as a test wants it.
final class FakeTokens: Sendable {
    /// In development, and in production, which refuses the first.
    static let credentials = ["dev-identity-tokens", String(repeating: "t", count: 48)]

    struct State {
        var sessions: [UUID: CreateSessionRequest] = [:]
        /// Of users who have sessions.
        var snapshots: [UUID: UserSnapshot] = [:]
        var revocations: [(user: UUID, request: RevokeSessionsRequest)] = []
        var takenBack: [UUID] = []
        /// Proofs of living sessions.
        var renewals: [RenewAuthenticationRequest] = []
        /// When sessions were made, where a test says so.
        var createdAt: [UUID: Date] = [:]
        var isDown = false
        /// Whether it can be read from, and nothing else.
        var failsToChange = false
        /// Requests that are to fail, counted down.
        var failures = 0
        /// Runs before a session is made.
        var beforeSession: (@Sendable () async -> Void)?
        /// Runs once a session has been made, before identity hears of it.
        var afterSession: (@Sendable () async -> Void)?
        /// Whether identity never hears of a session that was made.
        var losesAnswers = false
        var feed = FakeRevocationFeed()

        mutating func keep(_ snapshot: UserSnapshot) {
            let id = snapshot.user.id
            if snapshot.version > snapshots[id]?.version ?? 0 { snapshots[id] = snapshot }
        }
    }

    let state = Mutex(State())

    func live(_ user: UUID) -> Int {
        state.withLock { state in state.sessions.values.count { $0.snapshot.user.id == user } }
    }

    var liveCount: Int { state.withLock { $0.sessions.count } }

    func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.post("internal/sessions") { request, context in
            try self.refuseIfDown(request)
            let body = try await JSON.decode(CreateSessionRequest.self, from: self.body(of: request))
            let (id, user) = (body.sessionID, body.snapshot.user)
            await self.state.withLock { $0.beforeSession }?()
            let isErased = self.state.withLock { state in
                let isErased = state.revocations.contains { $0.user == user.id && $0.request.reason == .accountDeleted }
                if !isErased {
                    state.sessions[id] = body
                    state.keep(body.snapshot)
                }
                return isErased
            }
            if isErased {
                return try self.answer(ProblemDocument(Problem(.invalidCredentials), requestID: "r"), .unauthorized)
            }
            await self.state.withLock { $0.afterSession }?()
            if self.state.withLock({ $0.losesAnswers }) { throw HTTPError(.serviceUnavailable) }
            let now = Date(timeIntervalSince1970: Date.now.timeIntervalSince1970.rounded(.down))
            let auth = AuthResponse(
                accessToken: "access-\(id)", refreshToken: "refresh-\(id)", expiresIn: 3600,
                expiresAt: now + 3600, refreshExpiresIn: 7200, refreshExpiresAt: now + 7200,
                user: user)
            return try self.answer(auth)
        }
        router.put("internal/sessions/{id}/authentication") { request, context in
            try self.refuseIfDown(request)
            let id = try context.parameters.require("id", as: UUID.self)
            let body = try await JSON.decode(RenewAuthenticationRequest.self, from: self.body(of: request))
            let isLive = self.state.withLock { state in
                guard state.sessions[id]?.snapshot.user.id == body.userID else { return false }
                state.renewals.append(body)
                return true
            }
            guard isLive else {
                return try self.answer(ProblemDocument(Problem(.notFound), requestID: "r"), .notFound)
            }
            return Response(status: .noContent)
        }
        router.delete("internal/sessions/{id}") { request, context in
            try self.refuseIfDown(request)
            let id = try context.parameters.require("id", as: UUID.self)
            self.state.withLock { state in
                state.sessions[id] = nil
                state.takenBack.append(id)
            }
            return Response(status: .noContent)
        }
        router.post("internal/users/{id}/revoke") { request, context in
            try self.refuseIfDown(request)
            let id = try context.parameters.require("id", as: UUID.self)
            let body = try await JSON.decode(RevokeSessionsRequest.self, from: self.body(of: request))
            self.state.withLock { state in
                state.revocations.append((id, body))
                state.sessions = state.sessions.filter {
                    $0.value.snapshot.user.id != id || $0.key == body.exceptSession
                        || $0.value.credentialsVersion >= body.belowCredentialsVersion ?? .max
                }
            }
            return Response(status: .noContent)
        }
        router.delete("internal/users/{id}/sessions/{session}") { request, context in
            try self.refuseIfDown(request)
            let id = try context.parameters.require("id", as: UUID.self)
            let session = try context.parameters.require("session", as: UUID.self)
            let isLive = self.state.withLock { state in
                guard state.sessions[session]?.snapshot.user.id == id else { return false }
                state.sessions[session] = nil
                return true
            }
            guard isLive else {
                return try self.answer(ProblemDocument(Problem(.notFound), requestID: "r"), .notFound)
            }
            return Response(status: .noContent)
        }
        router.put("internal/users/{id}/snapshot") { request, context in
            try self.refuseIfDown(request)
            let id = try context.parameters.require("id", as: UUID.self)
            let snapshot = try await JSON.decode(UserSnapshot.self, from: self.body(of: request))
            self.state.withLock { state in
                if state.sessions.values.contains(where: { $0.snapshot.user.id == id }) { state.keep(snapshot) }
            }
            return Response(status: .noContent)
        }
        router.get("internal/users/{id}/sessions") { request, context in
            try self.refuseIfDown(request)
            let id = try context.parameters.require("id", as: UUID.self)
            let now = Date(timeIntervalSince1970: 1_800_000_000)
            let sessions = self.state.withLock { state in
                state.sessions.filter { $0.value.snapshot.user.id == id }.map {
                    Session(
                        id: $0.key, current: false, createdAt: state.createdAt[$0.key] ?? now, lastUsedAt: now,
                        expiresAt: now,
                        device: $0.value.device, ipAddress: $0.value.ipAddress)
                }
            }
            return try self.answer(SessionList(sessions: sessions))
        }
        addFeed(to: router)
        return router
    }

    private func refuseIfDown(_ request: Request) throws {
        let isDown = state.withLock { state in
            if state.failures > 0 {
                state.failures -= 1
                return true
            }
            return state.isDown || (state.failsToChange && request.method != .get)
        }
        if isDown { throw HTTPError(.serviceUnavailable) }
        let credential = request.headers[HTTPField.Name(HeaderName.credential)!]
        guard let credential, Self.credentials.contains(credential) else {
            throw HTTPError(.unauthorized)
        }
    }

    private func body(of request: Request) async throws -> Data {
        Data(try await request.body.collect(upTo: 1 << 20).readableBytesView)
    }

    private func answer(_ value: some Encodable, _ status: HTTPResponse.Status = .ok) throws -> Response {
        Response(
            status: status, headers: [.contentType: "application/json"],
            body: .init(byteBuffer: ByteBuffer(bytes: try JSON.encode(value))))
    }
}

/// devices, as identity sees it.
final class FakeDevices: Sendable {
    struct State {
        var erased: [UUID] = []
        var registered: [DeviceExport.Entry] = []
        var isDown = false
    }

    let state = Mutex(State())

    func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.delete("internal/users/{id}") { request, context in
            let id = try context.parameters.require("id", as: UUID.self)
            let isDown = self.state.withLock { state in
                if !state.isDown { state.erased.append(id) }
                return state.isDown
            }
            return Response(status: isDown ? .serviceUnavailable : .noContent)
        }
        router.get("internal/users/{id}/devices") { request, context in
            let devices = self.state.withLock { $0.registered }
            return Response(
                status: .ok, headers: [.contentType: "application/json"],
                body: .init(byteBuffer: ByteBuffer(bytes: try JSON.encode(DeviceExport(devices: devices)))))
        }
        return router
    }
}
