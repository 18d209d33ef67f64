/// Why a sign-in gets no session.
enum SessionRefusal: String, Error {
    /// The user was erased while the sign-in was under way.
    case userErased
    /// The user has signed out everywhere since the sign-in began.
    case signedOut
    /// There is a session under the id that was asked for.
    case idTaken
}
