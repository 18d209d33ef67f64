import Foundation
import GatehouseServiceContracts
import TestKit
import Testing

extension GatehouseSystem {
    /// Registers a user and makes an operator of them, by the command, as a team does with its first one.
    func signInOperator() async throws -> AuthResponse {
        let registered = try await journey.register()
        try await process("identity").run(["users", "set-role", registered.user.id.uuidString, "operator"])
        // The command tells tokens, or leaves it to identity.
        var session = registered
        try await eventually("the access token says so") {
            session = try await journey.refresh(session.refreshToken).decode(AuthResponse.self)
            return session.user.role == "operator"
        }
        return session
    }
}
