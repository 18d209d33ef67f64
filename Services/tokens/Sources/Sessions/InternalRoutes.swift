import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import Hummingbird

/// The routes for Gatehouse's other services. Each route lists the callers that it accepts.
struct InternalRoutes: Sendable {
    let store: SessionStore
    let feed: RevocationFeed
    let keys: RefreshKeyRing
    let issuer: TokenIssuer
    let signingKeys: SigningKeySource
    let sessionLimit: Int

    func add(to router: ServiceRouter) {
        let identity = router.internal(callers: "identity")
        identity.post("/sessions", use: createSession)
        identity.delete("/sessions/{id}", use: revokeUnusedSession)
        identity.put("/sessions/{id}/authentication", use: renewAuthentication)
        identity.get("/users/{id}/sessions", use: listSessions)
        identity.delete("/users/{id}/sessions/{session}", use: endSession)
        identity.post("/users/{id}/revoke", use: revokeSessions)
        identity.put("/users/{id}/snapshot", use: updateSnapshot)
        router.internal(callers: "gateway", "devices", "identity", "introspection")
            .get("/revocations", use: listRevocations)
        router.internal(callers: "devices").post("/sessions/live", use: listLiveSessions)
        router.internal(callers: "gateway").get("/keys", use: listKeys)
    }

    /// Creates a session for a user whose credentials identity has verified.
    @Sendable func createSession(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let body = try await request.decode(CreateSessionRequest.self)
        try Self.check(body)
        let token = RefreshToken(sessionID: body.sessionID, generation: 0, keys: keys)
        let grant = try await store.create(token, for: body, arrivedAt: context.arrivedAt, limit: sessionLimit)
        return .tokens(try issuer.issue(token, for: grant).json)
    }

    /// Ends a session that identity created and did not use: the user's credentials changed during the sign-in, or the
    /// response to the creation was lost.
    @Sendable func revokeUnusedSession(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        try await store.revoke(try context.uuid("id"), reason: .superseded)
        return .empty()
    }

    /// Records that the session's user has authenticated again.
    @Sendable func renewAuthentication(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let id = try context.uuid("id")
        let body = try await request.decode(RenewAuthenticationRequest.self)
        guard !body.methods.isEmpty else { throw Problem.invalid("methods", "Want at least one.") }
        try Self.check(body.methods, field: "methods")
        guard try await store.renewAuthentication(of: id, userID: body.userID, by: body.methods)
        else { throw Problem(.notFound, "There is no such session.") }
        return .empty()
    }

    static func check(_ request: CreateSessionRequest) throws(Problem) {
        guard (0..<SessionStore.signOutMemory).contains(request.signInAge) else {
            throw Problem.invalid("signInAge", "No sign-in takes this long.")
        }
        try check(request.authenticationMethods ?? [], field: "authenticationMethods")
        guard Bucket(session: request.sessionID) == Bucket(user: request.snapshot.user.id) else {
            throw Problem.invalid("sessionID", "This is not a session id of this user.")
        }
    }

    /// Every access token contains the methods. Verifiers refuse empty texts and control characters.
    static func check(_ methods: [AuthenticationMethod], field: String) throws(Problem) {
        let areWords = methods.allSatisfy { method in
            (1...32).contains(method.rawValue.utf8.count)
                && method.rawValue.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        }
        guard methods.count <= 8, areWords else {
            throw .invalid(field, "Want at most eight words of 32 characters.")
        }
    }

    @Sendable func listSessions(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let sessions = try await store.list(of: try context.uuid("id"), current: nil)
        return try .json(SessionList(sessions: sessions))
    }

    /// Which of some sessions are live, for a reader of the feed that may have missed entries.
    @Sendable func listLiveSessions(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let ids = try await request.decode(LiveSessions.self).ids
        guard ids.count <= LiveSessions.most else {
            throw Problem.invalid("sessionIDs", "Want at most \(LiveSessions.most).")
        }
        return try .json(LiveSessions(try await store.live(ids)))
    }

    /// Ends one of the user's sessions on behalf of an administrator.
    @Sendable func endSession(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let isEnded = try await store.revoke(
            try context.uuid("session"), of: try context.uuid("id"), reason: .administrator)
        guard isEnded else { throw Problem(.notFound, "There is no such session.") }
        return .empty()
    }

    @Sendable func revokeSessions(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let userID = try context.uuid("id")
        let body = try await request.decode(RevokeSessionsRequest.self)
        try await store.revokeAll(
            of: userID, except: body.exceptSession, below: body.belowCredentialsVersion, reason: body.reason)
        return .empty()
    }

    @Sendable func updateSnapshot(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let userID = try context.uuid("id")
        let snapshot = try await request.decode(UserSnapshot.self)
        guard snapshot.user.id == userID else { throw Problem.invalid("user.id", "This is not the user of the path.") }
        try await store.update(snapshot)
        return .empty()
    }

    /// The states of the signing keys for the operator's page, without the keys themselves.
    @Sendable func listKeys(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        try .json(SigningKeyList(keys: signingKeys.states))
    }

    /// The revocation feed, a long poll. `after` is the cursor of the previous page, `wait` is in seconds. The gateway
    /// and introspecting services verify access tokens only: they get only sessions whose access tokens may still be
    /// accepted. `form=access` returns these in a compact form.
    @Sendable func listRevocations(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let end = try context.longPollEnd(of: request)
        let query = request.uri.queryParameters
        if query["form"] == "access" {
            return try .json(try await feed.accessPage(after: query.get("after"), waitingUntil: end))
        }
        let verifiesOnly = context.caller == "gateway" || context.caller == "introspection"
        return try .json(
            try await feed.page(after: query.get("after"), verifiesOnly: verifiesOnly, waitingUntil: end))
    }
}
