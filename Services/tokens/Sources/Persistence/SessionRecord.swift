/// A session as it is kept, with its user, and PostgreSQL's clock in the same statement.
struct SessionRecord: Sendable {
    /// What the rules of rotation decide by.
    var state: SessionState
    /// The current token, sealed so that only its predecessor opens it; `nil` before the first rotation.
    var sealedCurrent: [UInt8]?
    /// What an answer with tokens is made from.
    var grant: SessionGrant
}
