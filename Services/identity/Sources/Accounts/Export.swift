import Contracts
import Foundation
import ServiceKit

/// All that is kept of a user (`GET /v1/auth/export`), gathered from the three services that keep something.
struct Export: Sendable {
    let accounts: AccountStore
    let identifiers: IdentifierStore
    let passwords: PasswordStore
    let appleIdentities: AppleIdentityStore
    let knownDevices: KnownDeviceStore
    let audit: AuditLog
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
            phoneVerified: try await identifiers.isPhoneVerified(of: user.id, deadline: deadline.forDatabase),
            apple: try await appleIdentities.identity(of: user.id, deadline: deadline.forDatabase),
            passwordChangedAt: try await passwords.changedAt(user.id, deadline: deadline.forDatabase),
            sessions: sessions,
            knownDevices: try await knownDevices.devices(of: user.id, deadline: deadline.forDatabase),
            knownNetworks: try await knownDevices.networks(of: user.id, deadline: deadline.forDatabase),
            devices: try await devices.devices(of: user.id, deadline: deadline).devices,
            events: try await audit.events(of: user.id, deadline: deadline.forDatabase))
    }
}
