import Contracts
import Foundation
import Logging
import ServiceKit

/// Gets a session for a user who has been proved, and makes sure that it does not outlive the proof.
///
/// Whoever changes a user's credentials commits first and revokes after. So when the credentials still stand once the
/// session is made, whoever changes them later revokes the session; and when they moved, it is taken back here. So is a
/// session of which nobody knows whether it was made.
struct SessionIssuer: Sendable {
    let accounts: AccountStore
    let outbox: OutboxStore
    let knownDevices: KnownDeviceStore
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
        let issued = try await create(for: account, device: device, context: context, refusal: refusal)
        let outcome: SignInOutcome
        do {
            let standing = try await accounts.standing(of: account.id, deadline: context.deadline.forDatabase)
            outcome = SignInOutcome.judge(provedAt: account.credentialsVersion, now: standing)
            if outcome == .stands, standing?.version != account.version {
                // What changed meanwhile may have been told before tokens knew of a user to whom it matters.
                try await OutboxStore.enqueueSnapshot(of: account.id, on: outbox.database)
            }
        } catch {
            await takeBack(issued.sessionID)
            throw error
        }
        if outcome == .stands {
            await remember(device, of: account.id, deadline: context.deadline)
            return issued
        }
        await takeBack(issued.sessionID)
        switch outcome {
        case .gone: throw refusal
        case .disabled: throw Problem(.accountDisabled)
        case .moved, .stands: return nil
        }
    }

    /// It may fail: then the device is a stranger's until the next sign-in.
    private func remember(_ device: SessionDevice?, of userID: UUID, deadline: Deadline) async {
        do {
            try await knownDevices.remember(device?.installationId, of: userID, deadline: deadline.forDatabase)
        } catch {
            logger.warning("A device was not remembered", metadata: ["error": "\(error)"])
        }
    }

    private func create(
        for account: Account, device: SessionDevice?, context: GatehouseRequestContext, refusal: Problem
    ) async throws -> Issued {
        let request = CreateSessionRequest(
            sessionID: UUID(), snapshot: account.snapshot, credentialsVersion: account.credentialsVersion,
            signInAge: (ContinuousClock.now - context.arrivedAt) / .seconds(1), device: device,
            ipAddress: context.clientAddress)
        do {
            let auth = try await tokens.createSession(request, deadline: context.deadline)
            return Issued(auth: auth, sessionID: request.sessionID)
        } catch .userErased {
            throw refusal
        } catch .unknown {
            await takeBack(uncertain: request.sessionID)
        } catch .notMade {}
        throw Problem(.unavailable)
    }

    /// Ends a session that may not be there yet: what was asked of tokens may still be under way. So it is done at
    /// once, and by the outbox once more when that must be over. Nobody waits for either.
    private func takeBack(uncertain session: UUID) async {
        await Task {
            do {
                try await OutboxStore.enqueue(.takeBack(session: session), user: nil, on: outbox.database)
            } catch {
                logger.warning("A session may be left behind", metadata: ["error": "\(error)"])
            }
        }.value
        Task { try? await tokens.takeBack(session: session) }
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
