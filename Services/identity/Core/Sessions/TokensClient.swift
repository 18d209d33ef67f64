package import Foundation
import GatehouseLimits
package import GatehouseServiceContracts
package import GatehouseServiceKit
import HTTPTypes

/// Client of the tokens service. Each method says what it throws; an error of tokens never becomes a refusal of the
/// user's input.
package struct TokensClient: Sendable {
    package let client: ServiceClient

    package init(client: ServiceClient) {
        self.client = client
    }

    /// Why no session was created.
    enum SessionFailure: Error {
        /// The user was deleted.
        case userDeleted
        /// Nothing was sent to tokens.
        case notMade(ServiceClientError)
        /// Anything else: the response was lost, or tokens refused. The session is revoked in case it exists.
        case unknown(ServiceClientError)
    }

    /// Not retried when its response is lost: a session's tokens are issued once.
    func createSession(_ request: CreateSessionRequest) async throws(SessionFailure) -> AuthResponse {
        do {
            return try await client.send(.post, "/internal/sessions", body: request)
        } catch let error where error.problem.code == .invalidCredentials {
            throw .userDeleted
        } catch {
            throw error.isUnavailable && !error.mayHaveActed ? .notMade(error) : .unknown(error.hidingRefusal)
        }
    }

    /// - Throws: `INVALID_TOKEN` where the session has ended; `UNAVAILABLE`.
    func renewAuthentication(of session: UUID, _ request: RenewAuthenticationRequest) async throws {
        do {
            try await client.send(.put, "/internal/sessions/\(session.path)/authentication", body: request)
        } catch {
            if error.problem.code == .notFound { throw Problem(.invalidToken) }
            throw error.hidingRefusal
        }
    }

    package func revokeUnused(session: UUID) async throws {
        try await change(.delete, "/internal/sessions/\(session.path)")
    }

    package func revokeSessions(of userID: UUID, _ request: RevokeSessionsRequest) async throws {
        try await change(.post, "/internal/users/\(userID.path)/revoke", body: request)
    }

    func put(_ snapshot: UserSnapshot) async throws {
        try await change(.put, "/internal/users/\(snapshot.user.id.path)/snapshot", body: snapshot)
    }

    /// Ends one session of the user, if it has not already ended.
    func endSession(_ session: UUID, of userID: UUID) async throws {
        do {
            try await change(.delete, "/internal/users/\(userID.path)/sessions/\(session.path)")
        } catch let error as ServiceClientError where error.problem.code == .notFound {}
    }

    package func sessions(of userID: UUID) async throws(ServiceClientError) -> SessionList {
        do {
            return try await client.send(.get, "/internal/users/\(userID.path)/sessions", idempotent: true)
        } catch {
            throw error.hidingRefusal
        }
    }

    /// For idempotent requests, which succeed where nothing has to change. They follow a change that is committed, or
    /// clean up after a request that failed, so the request's deadline does not apply.
    private func change(
        _ method: HTTPRequest.Method, _ path: String, body: (any Encodable & Sendable)? = nil
    ) async throws {
        try await Deadline.with(nil) { try await client.send(method, path, body: body, idempotent: true) }
    }
}
