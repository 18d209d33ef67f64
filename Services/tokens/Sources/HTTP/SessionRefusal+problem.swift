import Contracts
import ServiceKit

extension SessionRefusal: ProblemConvertible {
    var problem: Problem {
        switch self {
        // As if never there.
        case .userErased: Problem(.invalidCredentials)
        // Nothing is wrong with the credentials: a sign-in that begins now gets its session.
        case .signedOut: Problem(.unavailable)
        case .idTaken: Problem.invalid("sessionID", "There is a session with this id.")
        }
    }
}
