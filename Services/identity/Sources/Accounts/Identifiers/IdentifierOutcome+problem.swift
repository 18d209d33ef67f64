import Contracts
import ServiceKit

extension IdentifierOutcome {
    /// The account whose identifiers are as they were wanted.
    /// - Parameters:
    ///   - taken: what to say where another user has proved it.
    ///   - noSuchUser: what to say where the user is gone.
    /// - Throws: why they are not: `IDENTIFIER_TAKEN`, `FORBIDDEN`, `NOT_FOUND`.
    func account(taken: Problem = Problem(.identifierTaken), noSuchUser: Problem) throws(Problem) -> Account {
        switch self {
        case .changed(let account): return account
        case .taken: throw taken
        case .occupied: throw Problem(.identifierTaken, "The user has another one of this kind. Remove that first.")
        case .lastOne: throw .lastWayIn
        case .missing: throw Problem(.notFound)
        case .noSuchUser: throw noSuchUser
        }
    }
}

extension Problem {
    /// Nobody could sign in to the account any more.
    static var lastWayIn: Problem {
        Problem(.forbidden, "This is the only way to sign in to the account and cannot be removed.")
    }
}
