import Contracts
import Foundation
import ServiceKit

/// Showing a code (`POST /v1/auth/code/verify`). What comes of it is what the code was asked for.
struct CodeVerification: Sendable {
    let proofs: CodeProofs
    let accounts: CodeAccountStore
    let sessions: SessionIssuer
    let reauthentication: Reauthentication
    let worker: OutboxWorker

    /// - Returns: a session, where the code was asked for to sign in.
    func callAsFunction(
        _ request: VerifyCodeRequest, context: GatehouseRequestContext
    ) async throws -> AuthResponse? {
        let device = try request.device?.checked()
        let deadline = context.deadline.forDatabase
        return try await proofs.prove(request, context: context) { identifier in
            guard let user = context.user?.id,
                let isProved = try await accounts.isProved(identifier, by: user, deadline: deadline)
            else { return [.signIn] }
            // Who reads at an address that the user has not proved need not be the user.
            return isProved ? [.signIn, .verify, .stepUp] : [.signIn, .verify]
        } then: { identifier, purpose in
            switch (purpose, context.user) {
            case (.verify, let user?):
                guard try await accounts.verify(identifier, of: user.id, deadline: deadline) else {
                    throw CodeProofs.wrong
                }
                worker.ring()
                return nil
            case (.stepUp, let user?):
                try await reauthentication(
                    of: user, proving: accounts.owner(of: identifier, deadline: deadline),
                    by: CodeProofs.methods(of: identifier), refusal: CodeProofs.wrong, context: context)
                return nil
            default:
                return try await sessions.issue(
                    on: device, by: CodeProofs.methods(of: identifier), context: context, refusal: CodeProofs.wrong
                ) {
                    try await accounts.account(provenBy: identifier, deadline: deadline)
                }.auth
            }
        }
    }
}
