import Contracts
import Foundation
import ServiceKit

/// All that is kept of a user (`GET /v1/auth/export`), gathered from the three services that keep something.
struct Export: Sendable {
    let accounts: AccountStore
    let tokens: TokensClient
    let devices: DevicesClient

    func callAsFunction(_ user: ForwardedUser, context: GatehouseRequestContext) async throws -> AccountExport {
        let deadline = context.deadline
        guard let account = try await accounts.account(user.id, deadline: deadline.forDatabase) else {
            throw Problem(.invalidToken)
        }
        let sessions = try await tokens.sessions(of: user.id, deadline: deadline).sessions.map { session in
            var session = session
            session.current = session.id == user.sessionID
            return session
        }
        return AccountExport(
            user: account.user, state: account.state.rawValue,
            phoneVerified: try await accounts.isPhoneVerified(of: user.id, deadline: deadline.forDatabase),
            apple: try await accounts.appleLink(of: user.id, deadline: deadline.forDatabase),
            passwordChangedAt: try await accounts.passwordChangedAt(user.id, deadline: deadline.forDatabase),
            sessions: sessions,
            knownDevices: try await accounts.knownDevices(of: user.id, deadline: deadline.forDatabase),
            devices: try await devices.devices(of: user.id, deadline: deadline).devices,
            events: try await accounts.events(of: user.id, deadline: deadline.forDatabase))
    }
}
