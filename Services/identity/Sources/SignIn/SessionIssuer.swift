import Contracts
import Foundation
import Logging
import ServiceKit

/// Gets a session for a user who has been proved, and makes sure that it does not outlive the proof.
///
/// Whoever changes a user's credentials commits first and revokes after. So when the credentials still stand once the
/// session is made, whoever changes them later revokes the session; and when they moved, it is taken back here.
struct SessionIssuer: Sendable {
    let accounts: AccountStore
    let outbox: OutboxStore
    let tokens: TokensClient
    let logger: Logger

    struct Issued {
        var auth: AuthResponse
        var sessionID: UUID
    }

    /// - Returns: the session, or `nil` when the credentials moved meanwhile and the proof has to be made again.
    /// - Throws: `refusal` when the account was deleted meanwhile, `ACCOUNT_DISABLED` when it was disabled.
    func issue(
        for account: Account, device: SessionDevice?, context: GatehouseRequestContext, refusal: Problem
    ) async throws -> Issued? {
        guard account.state == .active else { throw Problem(.accountDisabled) }
        let request = CreateSessionRequest(
            snapshot: account.snapshot, device: device, ipAddress: context.clientAddress)
        let created = try await tokens.createSession(request, deadline: context.deadline)
        let outcome: SignInOutcome
        do {
            let standing = try await accounts.standing(of: account.id, deadline: context.deadline.forDatabase)
            outcome = SignInOutcome.judge(provedAt: account.credentialsVersion, now: standing)
        } catch {
            await takeBack(created.sessionID)
            throw error
        }
        guard outcome != .stands else { return Issued(auth: created.auth, sessionID: created.sessionID) }
        await takeBack(created.sessionID)
        switch outcome {
        case .gone: throw refusal
        case .disabled: throw Problem(.accountDisabled)
        case .moved, .stands: return nil
        }
    }

    /// Ends a session that nobody has been told of. It must happen, also when the client has gone away; what cannot be
    /// done now is left to the outbox.
    func takeBack(_ session: UUID) async {
        await Task {
            do {
                try await tokens.takeBack(session: session)
            } catch {
                logger.warning("A session could not be taken back yet", metadata: ["error": "\(error)"])
                _ = try? await OutboxStore.enqueue(.takeBack(session: session), user: nil, on: outbox.database)
            }
        }.value
    }
}
