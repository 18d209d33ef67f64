import Contracts
import Foundation
import Postgres
import ServiceKit

/// Makes the authentication of a living session new: what every way of proving oneself again ends with.
///
/// Nothing is taken back where the credentials change at the same moment, unlike after a sign-in: no session is made, and
/// who proved themself a moment before the change could have done so a moment earlier.
struct Reauthentication: Sendable {
    let database: PostgresPool
    let tokens: TokensClient

    /// Notes in the session that its user has proved now who they are. The next refresh gives an access token that says
    /// so.
    ///
    /// - Parameters:
    ///   - user: whose session it is.
    ///   - account: the one that the proof belongs to; `nil`: none does.
    ///   - refusal: what is thrown where the proof is another user's.
    /// - Throws: `refusal`; `ACCOUNT_DISABLED`; `INVALID_TOKEN` where the session has ended; `UNAVAILABLE`. The request
    ///   may be repeated.
    func callAsFunction(
        of user: ForwardedUser, proving account: Account?, by methods: [AuthenticationMethod], refusal: Problem,
        context: GatehouseRequestContext
    ) async throws {
        guard let account, account.id == user.id else { throw refusal }
        guard account.state == .active else { throw Problem(.accountDisabled) }
        try await tokens.renewAuthentication(
            of: user.sessionID, RenewAuthenticationRequest(userID: user.id, methods: methods),
            deadline: context.deadline)
        try await AuditLog.record(
            .reauthenticated, user.id, by: .user, on: database, deadline: context.deadline.forDatabase)
    }
}
