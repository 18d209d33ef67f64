import Contracts
import ServiceKit

/// Removing a way to sign in (`DELETE /v1/auth/identities/{provider}`).
struct Unlinking: Sendable {
    let providers: AuthProviderStore
    let age: AuthenticationAge
    let worker: OutboxWorker

    /// - Throws: `REAUTHENTICATION_REQUIRED`; `FORBIDDEN` when it is the last way to sign in to the account.
    func callAsFunction(
        _ provider: AuthProvider, from user: ForwardedUser, context: GatehouseRequestContext
    ) async throws -> User {
        try age.require(user)
        switch try await providers.unlink(provider, from: user.id, deadline: context.deadline.forDatabase) {
        case .unlinked(let account):
            worker.ring()
            return account.user
        case .lastOne:
            throw Problem.lastWayIn
        case .notLinked:
            throw Problem(.notFound)
        case .noSuchUser:
            throw Problem(.invalidToken)
        }
    }
}
