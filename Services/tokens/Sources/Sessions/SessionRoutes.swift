import GatehouseServiceContracts
import GatehouseServiceKit
import HTTPTypes
import Hummingbird
import NIOCore

/// The public routes of sessions: logout and the list.
struct SessionRoutes: Sendable {
    let revoker: TokenRevoker
    let store: SessionStore

    func add(to router: ServiceRouter) {
        router.post("/v1/auth/logout", use: logout)
        router.post("/v1/auth/logout-all", use: logoutAll)
        router.get("/v1/auth/sessions", use: list)
        router.delete("/v1/auth/sessions/{id}", use: delete)
    }

    /// Ends the session of the refresh token and the session of the access token. Either token alone is enough: the
    /// refresh token counts even when the access token has expired.
    @Sendable func logout(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let body = try await request.decode(LogoutRequest.self)
        if body.refreshToken == nil, context.user == nil {
            if let bearerError = context.bearerError { throw Problem(bearerError) }
            throw Problem(.invalidRequest, "Please send a refresh token, or sign in.")
        }
        if let token = body.refreshToken {
            try await revoker.revoke(token, from: context.ipAddress)
        }
        if let user = context.user {
            try await store.revoke(user.sessionID, of: user.id, reason: .logout)
        }
        return .empty()
    }

    @Sendable func logoutAll(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let user = try context.requireUser()
        let body = try await request.decode(LogoutAllRequest.self)
        let spared = body.exceptCurrent == true ? user.sessionID : nil
        try await store.signOut(user.id, except: spared)
        return .empty()
    }

    @Sendable func list(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let user = try context.requireUser()
        let sessions = try await store.list(of: user.id, current: user.sessionID)
        return try .json(SessionList(sessions: sessions))
    }

    @Sendable func delete(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let user = try context.requireUser()
        let wasThere = try await store.revoke(try context.uuid("id"), of: user.id, reason: .logout)
        guard wasThere else { throw Problem(.notFound, "There is no such session.") }
        return .empty()
    }
}

extension GatehouseRequestContext {
    /// The client's address as stored with the session.
    var ipAddress: String? { clientAddress.isEmpty ? nil : clientAddress }
}

extension HTTPField.Name {
    fileprivate static let pragma = HTTPField.Name("Pragma")!
}

extension Response {
    /// A response with tokens, which no cache may store, old proxies included (RFC 6749 §5.1).
    static func tokens(_ json: String) -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store", .pragma: "no-cache"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: json)))
    }
}
