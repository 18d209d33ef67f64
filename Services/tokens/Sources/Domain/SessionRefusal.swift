/// Why a sign-in gets no session.
enum SessionRefusal: String, Error {
    /// The user was erased while the sign-in was under way.
    case userErased
    /// The user has signed out everywhere since the sign-in began.
    case signedOut
    /// Another session has the requested id.
    case idTaken
}
