package import Foundation
package import GatehouseServiceContracts
package import Postgres
import Synchronization

/// The account that a request tries to open, the method, and the purpose, as far as the request has been processed.
/// ``AuditMiddleware`` records a refusal.
package final class AuditedAttempt: Sendable {
    package enum Target: Sendable {
        case user(UUID)
        /// The account that is found when the refusal is recorded.
        case owner(@Sendable (PostgresPool) async throws -> UUID?)
    }

    /// The credential that a request presents. Kinds of credentials declare theirs.
    package struct Method: Sendable {
        /// The name in the log entry of a refusal.
        let name: String
        /// The error for a wrong credential of this kind, besides `INVALID_CREDENTIALS`.
        let refusal: ErrorCode?
        /// Whether the error of a refused access token takes precedence over that for a wrong credential.
        let yieldsToBearerError: Bool
        /// Whether refusals are counted where no account is found, under ``AuditStore/noUser``.
        let isCountedWithoutUser: Bool

        package init(
            _ name: String, refusal: ErrorCode? = nil, yieldsToBearerError: Bool = false,
            isCountedWithoutUser: Bool = false
        ) {
            self.name = name
            self.refusal = refusal
            self.yieldsToBearerError = yieldsToBearerError
            self.isCountedWithoutUser = isCountedWithoutUser
        }
    }

    /// What a route does for the user, where it does not sign the user in. Routes declare theirs.
    package struct Action: Sendable {
        /// Follows the reason in the log entry of a refusal.
        var name: String?
        /// The error where the route refuses the action itself. The entry's detail is the action's name.
        var refusal: ErrorCode?
        /// The error for a wrong credential of an existing account.
        var wrongCredential: ErrorCode?

        package init(name: String? = nil, refusal: ErrorCode? = nil, wrongCredential: ErrorCode? = nil) {
            self.name = name
            self.refusal = refusal
            self.wrongCredential = wrongCredential
        }
    }

    private struct State {
        var target: Target?
        var method: Method?
        var action: Action?
    }

    private let state = Mutex(State())

    var target: Target? { state.withLock(\.target) }
    var method: Method? { state.withLock(\.method) }

    /// Notes the method and account for the current request.
    package static func note(_ method: Method, of target: Target? = nil) {
        AuditScope.current?.attempt.state.withLock {
            $0.method = method
            $0.target = target
        }
    }

    /// Notes the account for the current request, once it is found.
    static func note(target: Target) {
        AuditScope.current?.attempt.state.withLock { $0.target = target }
    }

    /// Declares what the current route does.
    package static func note(action: Action) {
        AuditScope.current?.attempt.state.withLock { $0.action = action }
    }

    /// The entry's detail where the request was refused for its credential; `nil` where it was not.
    /// - Parameter bearerError: the error of the request's access token.
    func refusal(_ problem: Problem, bearerError: ErrorCode?) -> String? {
        let state = state.withLock { $0 }
        if let action = state.action, problem.code == action.refusal { return action.name }
        guard let reason = reason(problem.code, bearerError, state) else { return nil }
        return [reason, state.action?.name].compactMap(\.self).joined(separator: " ")
    }

    private func reason(_ code: ErrorCode, _ bearerError: ErrorCode?, _ state: State) -> String? {
        if code == .accountDisabled { return "disabled" }
        guard let method = state.method else { return nil }
        let isWrong =
            code == .invalidCredentials || code == method.refusal
            || (method.yieldsToBearerError && code == bearerError)
            || (state.target != nil && code == state.action?.wrongCredential)
        return isWrong ? method.name : nil
    }
}
