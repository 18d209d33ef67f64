import Foundation
package import GatehouseServiceContracts
package import GatehouseServiceKit
import Hummingbird
import Postgres

/// Verifies a signed-in user again (`POST /v1/auth/reauthenticate`).
package struct ReauthenticationRoutes: Sendable {
    let verification: CredentialVerification
    let reauthentication: Reauthentication

    package init(verification: CredentialVerification, reauthentication: Reauthentication) {
        self.verification = verification
        self.reauthentication = reauthentication
    }

    package func add(to router: ServiceRouter) {
        router.post("/v1/auth/reauthenticate") { request, context in
            AuditedAttempt.note(action: .reauthentication)
            let user = try context.requireUser()
            let presented = PresentedCredential(try await request.decode(ReauthenticateRequest.self))
            try await verification(presented, of: .account(of: user), context: context) { verified in
                try await reauthentication(
                    of: user, verified: verified.account, by: verified.verification,
                    refusal: Problem(.invalidCredentials))
            }
            return Response.empty()
        }
    }
}

/// Renews the authentication time of a session. Every way of verifying a signed-in user again ends here.
///
/// Unlike at a sign-in, a change of the credentials at the same moment revokes nothing. No session is created, and the
/// user could as well have authenticated a moment before the change.
package struct Reauthentication: Sendable {
    let database: PostgresPool
    let tokens: TokensClient

    /// Records in the session that its user has authenticated now. The access token of the next refresh states it.
    ///
    /// - Parameters:
    ///   - user: the user of the session.
    ///   - account: the account that was verified; `nil`: none.
    ///   - refusal: the error where another user was verified.
    /// - Throws: `refusal`; `ACCOUNT_DISABLED`; `INVALID_TOKEN` where the session has ended; `UNAVAILABLE`. The request
    ///   may be repeated.
    package func callAsFunction(
        of user: ForwardedUser, verified account: Account?, by verification: Verification, refusal: Problem
    ) async throws {
        guard let account, account.id == user.id else { throw refusal }
        guard account.state == .active else { throw Problem(.accountDisabled) }
        try await tokens.renewAuthentication(
            of: user.sessionID, RenewAuthenticationRequest(userID: user.id, methods: verification.methods))
        try await AuditStore.record(.reauthenticated, user.id, by: .user, on: database)
    }
}

extension AuthenticationAge {
    /// - Throws: `REAUTHENTICATION_REQUIRED` where the user's last authentication is too old.
    package func require(_ user: ForwardedUser) throws(Problem) {
        guard accepts(user.authenticatedAt, now: .now) else { throw .reauthenticationRequired(maximumAge: maximum) }
    }
}
