public import Foundation
public import GatehouseServiceContracts
public import Hummingbird
import NIOCore
public import Synchronization

/// A fake of tokens for identity and devices. It creates and revokes sessions, and fails as a test configures it.
public final class FakeTokens: Sendable {
    /// The credentials of identity in development, of identity in production (which refuses the first), of devices, and
    /// of a service of the team.
    public static let credentials = [
        "dev-identity-tokens", String(repeating: "t", count: 48), "dev-devices-tokens", "dev-shop+tokens",
    ]

    public struct State: Sendable {
        public var sessions: [UUID: CreateSessionRequest] = [:]
        /// The snapshots of users with sessions.
        public var snapshots: [UUID: UserSnapshot] = [:]
        public var revocations: [(user: UUID, request: RevokeSessionsRequest)] = []
        public var revokedUnused: [UUID] = []
        /// Sessions that are not live, although the feed may not say so.
        public var endedSessions: Set<UUID> = []
        /// When live sessions end, in an hour by default.
        public var expirations: [UUID: Date] = [:]
        /// The sessions about which devices has asked, one request each.
        public var askedSessions: [[UUID]] = []
        /// Renewed authentications of live sessions.
        public var renewals: [RenewAuthenticationRequest] = []
        /// When sessions were created, if a test sets it.
        public var createdAt: [UUID: Date] = [:]
        public var isDown = false
        /// Whether all requests except GET fail.
        public var failsToChange = false
        /// The number of requests that fail next.
        public var failures = 0
        /// Runs before a session is created.
        public var beforeSession: (@Sendable () async -> Void)?
        /// Runs after a session was created, before the answer is sent.
        public var afterSession: (@Sendable () async -> Void)?
        /// Whether the creation of a session is answered with an error.
        public var losesAnswers = false
        public var feed = FakeRevocationFeed()

        mutating func keep(_ snapshot: UserSnapshot) {
            let id = snapshot.user.id
            if snapshot.version > snapshots[id]?.version ?? 0 { snapshots[id] = snapshot }
        }
    }

    public let state = Mutex(State())

    public init() {}

    public func live(_ user: UUID) -> Int {
        state.withLock { state in state.sessions.values.count { $0.snapshot.user.id == user } }
    }

    public var liveCount: Int { state.withLock { $0.sessions.count } }

    public func router() -> Router<BasicRequestContext> {
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
                state.revokedUnused.append(id)
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
        router.post("internal/sessions/live") { request, _ in
            try self.refuseIfDown(request)
            let asked = try await JSON.decode(LiveSessions.self, from: self.body(of: request)).ids
            let live = self.state.withLock { state in
                state.askedSessions.append(asked)
                return asked.filter { !state.endedSessions.contains($0) }
                    .map { (id: $0, expiresAt: state.expirations[$0] ?? .now + 3600) }
            }
            return try self.answer(LiveSessions(live))
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
        let credential = request.headers[.init(HeaderName.credential)!]
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

extension FakeTokens {
    /// Adds the revocation feed, a long poll.
    private func addFeed(to router: Router<BasicRequestContext>) {
        router.get("internal/revocations") { request, _ in
            let credential = request.headers[.init(HeaderName.credential)!]
            guard let credential, Self.credentials.contains(credential) else { throw HTTPError(.forbidden) }
            let cursor = request.uri.queryParameters["after"].map { String($0) }
            let wait = request.uri.queryParameters["wait"].flatMap { Int(String($0)) } ?? 0
            let end = ContinuousClock.now + .seconds(wait)
            self.state.withLock { state in
                state.feed.cursors.append(cursor)
                state.feed.waits.append(wait)
                state.feed.reading += 1
                state.feed.mostReading = max(state.feed.mostReading, state.feed.reading)
            }
            defer { self.state.withLock { $0.feed.reading -= 1 } }
            while true {
                let page = try self.state.withLock { state in
                    if state.isDown || state.feed.isDown { throw HTTPError(.serviceUnavailable) }
                    return state.feed.page(after: cursor)
                }
                if page != nil || .now >= end {
                    let page = page ?? RevocationPage(entries: [], cursor: cursor ?? "1.0", reset: false, more: false)
                    guard request.uri.queryParameters["form"] == "access" else { return try self.answer(page) }
                    let entries = page.entries.map {
                        AccessRevocationPage.Entry(
                            sessionID: $0.sessionID, accessExpiresAt: Int64($0.accessExpiresAt.timeIntervalSince1970),
                            age: Date.now.timeIntervalSince($0.revokedAt))
                    }
                    return try self.answer(
                        AccessRevocationPage(entries: entries, cursor: page.cursor, reset: page.reset, more: page.more))
                }
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }
}

/// A revocation feed that a test fills.
public struct FakeRevocationFeed: Sendable {
    private var entries: [RevocationPage.Entry] = []
    /// A test increments it to simulate that tokens has lost its history. Earlier cursors are then invalid.
    public var generation = 1
    public var pageSize = 1000
    public var isDown = false
    /// Whether it supports the cursor `latest`.
    public var knowsLatest = true
    /// The cursors of the requests that were answered or refused.
    public fileprivate(set) var cursors: [String?] = []
    /// The seconds for which the requests wait, as the cursors.
    public fileprivate(set) var waits: [Int] = []
    /// The number of requests in progress.
    fileprivate var reading = 0
    /// The highest number of requests in progress.
    public fileprivate(set) var mostReading = 0

    public mutating func end(_ session: UUID, of user: UUID, at time: Date = .now, reason: RevocationReason = .logout) {
        entries.append(
            RevocationPage.Entry(
                sessionID: session, userID: user, revokedAt: time, accessExpiresAt: time + 3600, reason: reason))
    }

    /// The page after the cursor, which is `generation.position`; `nil` while there are no new entries.
    func page(after cursor: String?) -> RevocationPage? {
        if cursor == RevocationPage.latest, knowsLatest {
            return RevocationPage(entries: [], cursor: "\(generation).\(entries.count)", reset: false, more: false)
        }
        let parts = cursor?.split(separator: ".").compactMap { Int($0) } ?? [generation, 0]
        guard parts.count == 2, parts[0] == generation else {
            return RevocationPage(entries: [], cursor: "\(generation).0", reset: true, more: true)
        }
        guard parts[1] < entries.count else { return nil }
        let end = min(entries.count, parts[1] + pageSize)
        return RevocationPage(
            entries: Array(entries[parts[1]..<end]), cursor: "\(generation).\(end)", reset: false,
            more: end < entries.count)
    }
}
