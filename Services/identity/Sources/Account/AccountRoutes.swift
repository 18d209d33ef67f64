import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import HTTPTypes
import Hummingbird
import IdentityCore

/// Routes for a signed-in user's own account. The gateway identifies the user.
struct AccountRoutes: Sendable {
    let accounts: AccountStore
    let deletion: AccountDeletion
    let unlinking: Unlinking
    let export: Export
    let age: AuthenticationAge
    let worker: OutboxWorker

    func add(to router: ServiceRouter) {
        router.get("/v1/auth/me") { _, context in
            try await Response.json(me(context))
        }
        router.patch("/v1/auth/me") { request, context in
            try await Response.json(update(request, context))
        }
        router.delete("/v1/auth/account") { _, context in
            try await delete(context)
            return Response.empty(.accepted)
        }
        router.get("/v1/auth/export") { _, context in
            let user = try context.requireUser()
            try age.require(user)
            return try await Response.json(export(user), holdsToken: true)
        }
        // One route for each provider. A route with a path parameter in that place would be shadowed, for every method,
        // by the literal route POST /v1/auth/identities/apple.
        for provider in AuthProvider.known {
            router.delete("/v1/auth/identities/\(provider.rawValue)") { _, context in
                let user = try context.requireUser()
                return try await Response.json(unlink(provider, from: user))
            }
        }
    }

    private func unlink(_ provider: AuthProvider, from user: ForwardedUser) async throws -> User {
        try age.require(user)
        switch try await unlinking(provider, from: user.id) {
        case .unlinked(let account):
            worker.wake()
            return account.user
        case .lastOne: throw Problem.lastCredential
        case .notLinked: throw Problem(.notFound)
        case .noSuchUser: throw Problem(.invalidToken)
        }
    }

    private func me(_ context: GatehouseRequestContext) async throws -> User {
        let id = try context.requireUser().id
        guard let account = try await accounts.account(id) else { throw Problem(.invalidToken) }
        return account.user
    }

    /// Repeating the request continues a deletion in progress without recent authentication: the user of a deleted
    /// account can no longer authenticate.
    private func delete(_ context: GatehouseRequestContext) async throws {
        let user = try context.requireUser()
        do {
            try age.require(user)
        } catch {
            let exists = try await accounts.exists(user.id)
            guard !exists else { throw error }
        }
        try await deletion(user.id)
    }

    /// A field that is absent or null stays as it is; an empty name removes the name.
    private func update(_ request: Request, _ context: GatehouseRequestContext) async throws -> User {
        let id = try context.requireUser().id
        guard let text = try await request.decode(UpdateUserRequest.self).displayName else {
            return try await me(context)
        }
        let name = try Problem.checking("displayName") { () throws(Refusal) in try DisplayName.read(text) }
        guard let account = try await accounts.rename(id, to: name) else { throw Problem(.invalidToken) }
        worker.wake()
        return account.user
    }
}

/// All data stored about a user (`GET /v1/auth/export`), collected from the three services that store some.
struct Export: Sendable {
    let accounts: AccountStore
    let registry: CredentialRegistry
    let knownDevices: KnownDeviceStore
    let audit: AuditStore
    let tokens: TokensClient
    let devices: DevicesClient

    func callAsFunction(_ user: ForwardedUser) async throws -> AccountExport {
        guard let account = try await accounts.account(user.id) else { throw Problem(.invalidToken) }
        let sessions = try await tokens.sessions(of: user.id).sessions.map { session in
            var session = session
            session.current = session.id == user.sessionID
            return session
        }
        let devices = try await devices.devices(of: user.id)
        var export = AccountExport(
            user: account.user, state: account.state.rawValue, phoneVerified: account.user.phoneVerified,
            sessions: sessions,
            knownDevices: try await knownDevices.devices(of: user.id),
            knownNetworks: try await knownDevices.networks(of: user.id),
            devices: devices.devices, tags: devices.tags,
            events: try await audit.events(of: user.id))
        for kind in registry.kinds { try await kind.export(user.id, into: &export) }
        return export
    }
}
