import Contracts
import Foundation
import Synchronization

/// The account that a request tries to open, and the method, as far as the request has been processed.
/// ``AuditMiddleware`` records a refusal.
final class AuditedAttempt: Sendable {
    enum Target: Sendable, Equatable {
        case user(UUID)
        /// The account that has verified the identifier.
        case identifier(Identifier)
    }

    /// The credential's name in the log entry of a refusal.
    enum Method: String, Sendable {
        case password, apple, code
    }

    private let state = Mutex<(target: Target?, method: Method)>((nil, .password))

    var target: Target? { state.withLock(\.target) }

    func note(_ method: Method, of target: Target?) {
        state.withLock { $0 = (target, method) }
    }

    /// Notes the method and account for the current request.
    static func note(_ method: Method, of target: Target? = nil) {
        AuditScope.current?.attempt.note(method, of: target)
    }

    /// The entry's detail where the request was refused for its credential; `nil` where it was not.
    /// - Parameter bearerError: the error of the request's access token.
    func refusal(_ problem: Problem, path: String, bearerError: ErrorCode?) -> String? {
        let (target, method) = state.withLock { $0 }
        // Each route exists with and without the prefix.
        let path = path.hasPrefix("/api/") ? String(path.dropFirst(4)) : path
        let reason: String
        switch problem.code {
        case .invalidCredentials: reason = method.rawValue
        case .invalidAppleToken: reason = Method.apple.rawValue
        case .accountDisabled: reason = "disabled"
        // A repeated registration with a password other than the account's.
        case .identifierTaken where path == "/v1/auth/register" && target != nil: reason = method.rawValue
        case .forbidden where path == "/v1/auth/merge": return "merge"
        // A wrong code, sent with an access token that was refused.
        case bearerError where method == .code: reason = method.rawValue
        default: return nil
        }
        return switch path {
        case "/v1/auth/merge": "\(reason) merge"
        case "/v1/auth/reauthenticate": "\(reason) reauthentication"
        default: reason
        }
    }
}
