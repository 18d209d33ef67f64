import GatehouseServiceContracts
import GatehouseServiceKit

/// Why a sign-in gets no session.
enum SessionRefusal: String, Error {
    /// The user was erased during the sign-in.
    case userErased
    /// The user has signed out everywhere since the sign-in began.
    case signedOut
    /// Another session already has the requested id.
    case idTaken
}

extension SessionRefusal: ProblemConvertible {
    var problem: Problem {
        switch self {
        // An erased user gets the same error as an unknown one.
        case .userErased: Problem(.invalidCredentials)
        // The credentials are correct: a sign-in that begins now succeeds. So the client should retry.
        case .signedOut: Problem(.unavailable)
        case .idTaken: Problem.invalid("sessionID", "There is a session with this id.")
        }
    }
}
