import Contracts
import Foundation
import Synchronization

/// Which account a request tries to open, and how, as far as the request has come. ``AuditMiddleware`` records a refusal.
final class AuditedAttempt: Sendable {
    enum Target: Sendable, Equatable {
        case user(UUID)
        /// The account that has verified the identifier.
        case identifier(Identifier)
    }

    /// What the log says of a credential that was refused.
    enum Method: String, Sendable {
        case password, code
    }

    private let state = Mutex<(target: Target?, method: Method)>((nil, .password))

    var target: Target? { state.withLock(\.target) }

    func note(_ method: Method, of target: Target?) {
        state.withLock { $0 = (target, method) }
    }

    /// Notes it for the request that is being answered.
    static func note(_ method: Method, of target: Target? = nil) {
        AuditScope.current?.attempt.note(method, of: target)
    }

    /// The entry's detail where the request was refused for its credential; `nil` where it was not.
    /// - Parameter bearerError: of the request.
    func refusal(_ problem: Problem, path: String, bearerError: ErrorCode?) -> String? {
        let (target, method) = state.withLock { $0 }
        // Each route has two spellings.
        let path = path.hasPrefix("/api/") ? String(path.dropFirst(4)) : path
        let reason: String
        switch problem.code {
        case .invalidCredentials: reason = method.rawValue
        case .invalidAppleToken: reason = "apple"
        case .accountDisabled: reason = "disabled"
        // A registration that is repeated with another password than the account's.
        case .identifierTaken where path == "/v1/auth/register" && target != nil: reason = method.rawValue
        case .forbidden where path == "/v1/auth/merge": return "merge"
        // A wrong code beside a bearer that was refused.
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
