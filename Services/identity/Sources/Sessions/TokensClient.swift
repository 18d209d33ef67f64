import Contracts
import Foundation
import HTTPTypes
import ServiceKit

/// The tokens service, as identity uses it. Whatever goes wrong there is `UNAVAILABLE` to the client, whose fault it is
/// not.
struct TokensClient: Sendable {
    let client: ServiceClient

    /// Why there is no session to give out.
    enum SessionFailure: Error {
        /// tokens knows that the user was erased.
        case userErased
        /// tokens was not reached.
        case notMade
        /// The answer was lost, or does not say whether a session was made.
        case unknown
    }

    /// Not repeated when its answer is lost: a session's tokens are given out once.
    func createSession(
        _ request: CreateSessionRequest, deadline: Deadline
    ) async throws(SessionFailure) -> AuthResponse {
        do {
            return try await client.send(.post, "/internal/sessions", body: request, deadline: deadline)
        } catch let error where error.problem.code == .invalidCredentials {
            throw .userErased
        } catch {
            throw error.isUnavailable && !error.mayHaveActed ? .notMade : .unknown
        }
    }

    /// - Throws: `INVALID_TOKEN` where the session has ended; `UNAVAILABLE`.
    func renewAuthentication(
        of session: UUID, _ request: RenewAuthenticationRequest, deadline: Deadline
    ) async throws(Problem) {
        do {
            try await client.send(
                .put, "/internal/sessions/\(session.path)/authentication", body: request, deadline: deadline)
        } catch {
            throw Problem(error.problem.code == .notFound ? .invalidToken : .unavailable)
        }
    }

    func revokeUnused(session: UUID) async throws {
        try await change(.delete, "/internal/sessions/\(session.path)")
    }

    func revokeSessions(of userID: UUID, _ request: RevokeSessionsRequest) async throws {
        try await change(.post, "/internal/users/\(userID.path)/revoke", body: request)
    }

    func put(_ snapshot: UserSnapshot) async throws {
        try await change(.put, "/internal/users/\(snapshot.user.id.path)/snapshot", body: snapshot)
    }

    /// Ends one session of the user's, where it has not ended by itself.
    func endSession(_ session: UUID, of userID: UUID) async throws {
        do {
            try await change(.delete, "/internal/users/\(userID.path)/sessions/\(session.path)")
        } catch let error as ServiceClientError where error.problem.code == .notFound {}
    }

    func sessions(of userID: UUID, deadline: Deadline) async throws(Problem) -> SessionList {
        do {
            return try await client.send(
                .get, "/internal/users/\(userID.path)/sessions", deadline: deadline, idempotent: true)
        } catch {
            throw Problem(.unavailable)
        }
    }

    /// For requests that may be repeated, and that succeed where there is nothing to change.
    private func change(
        _ method: HTTPRequest.Method, _ path: String, body: (any Encodable & Sendable)? = nil
    ) async throws {
        try await client.send(
            method, path, body: body, deadline: .after(client.timeout), idempotent: true)
    }
}
