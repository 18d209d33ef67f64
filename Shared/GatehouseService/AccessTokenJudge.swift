public import Contracts
public import ServiceKit

/// Finds out whose an access token is, in a service that the gateway does not stand before.
///
/// Two ways, each a conformer: ``PublishedKeyJudge`` asks nobody for a token, ``IntrospectionJudge`` asks tokens for each.
public protocol AccessTokenJudge: Sendable {
    /// The user whose access token it is.
    ///
    /// - Parameters:
    ///   - token: the text after `Bearer`; anything that a stranger may send.
    ///   - deadline: when the caller stops waiting.
    /// - Throws: `INVALID_TOKEN` for a token that is not good, or whose session has ended; `TOKEN_EXPIRED` from a judge
    ///   that can tell, which ``PublishedKeyJudge`` can and ``IntrospectionJudge`` cannot; `UNAVAILABLE` where nothing is
    ///   known of it: a client that was told otherwise would sign its user out.
    func user(of token: String, before deadline: Deadline) async throws(Problem) -> ForwardedUser
}
