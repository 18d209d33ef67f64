import Contracts
import Foundation
import HTTPTypes
import ServiceKit

/// The tokens service, as identity uses it. Its troubles are `UNAVAILABLE` here, whatever they are: none of them is the
/// user's fault.
struct TokensClient: Sendable {
    let client: ServiceClient

    /// Why there is no session to give out.
    enum SessionFailure: Error {
        /// tokens knows that the user was erased.
        case userErased
        /// tokens was not reached.
        case notMade
        /// Whether there is one, the answer does not say, or was lost.
        case unknown
    }

    /// Not repeated when its answer is lost: nobody is told a session's tokens twice.
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

    func takeBack(session: UUID) async throws {
        try await change(.delete, "/internal/sessions/\(session.path)")
    }

    func revokeSessions(of userID: UUID, _ request: RevokeSessionsRequest) async throws {
        try await change(.post, "/internal/users/\(userID.path)/revoke", body: request)
    }

    func put(_ snapshot: UserSnapshot) async throws {
        try await change(.put, "/internal/users/\(snapshot.user.id.path)/snapshot", body: snapshot)
    }

    func sessions(of userID: UUID, deadline: Deadline) async throws(Problem) -> SessionList {
        do {
            return try await client.send(
                .get, "/internal/users/\(userID.path)/sessions", deadline: deadline, idempotent: true)
        } catch {
            throw Problem(.unavailable)
        }
    }

    /// Each of these may be done twice, and succeeds where there is nothing to do it to.
    private func change(
        _ method: HTTPRequest.Method, _ path: String, body: (any Encodable & Sendable)? = nil
    ) async throws {
        try await client.send(
            method, path, body: body, deadline: .after(client.timeout), idempotent: true)
    }
}

/// The devices service, as identity uses it.
struct DevicesClient: Sendable {
    let client: ServiceClient

    func erase(_ userID: UUID) async throws {
        try await client.send(
            .delete, "/internal/users/\(userID.path)", deadline: .after(client.timeout),
            idempotent: true)
    }

    func devices(of userID: UUID, deadline: Deadline) async throws(Problem) -> DeviceExport {
        do {
            return try await client.send(
                .get, "/internal/users/\(userID.path)/devices", deadline: deadline, idempotent: true)
        } catch {
            throw Problem(.unavailable)
        }
    }
}

extension UUID {
    /// As it stands in a path.
    fileprivate var path: String {
        uuidString.lowercased()
    }
}
