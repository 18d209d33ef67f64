import Contracts
import ServiceKit

extension SessionRefusal: ProblemConvertible {
    var problem: Problem {
        switch self {
        // An erased user is answered as one who never was.
        case .userErased: Problem(.invalidCredentials)
        // The credentials are right: a sign-in that begins now succeeds. So the client shall try again.
        case .signedOut: Problem(.unavailable)
        case .idTaken: Problem.invalid("sessionID", "There is a session with this id.")
        }
    }
}
