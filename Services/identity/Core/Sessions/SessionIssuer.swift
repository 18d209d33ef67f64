import Foundation
import GatehouseLimits
package import GatehouseServiceContracts
package import GatehouseServiceKit
import Logging

/// Creates a session for a verified user, and ensures that the session does not outlive a change of the credentials.
///
/// A transaction that changes a user's credentials commits first and revokes the sessions after that. If the
/// credentials are unchanged once the session exists, every later change revokes the session too. If they have changed,
/// the session is revoked here. The same happens where it is unknown whether the session was created.
package struct SessionIssuer: Sendable {
    let accounts: AccountStore
    let outbox: OutboxStore
    let knownDevices: KnownDeviceStore
    let deviceTokens: KnownDeviceTokens
    let tokens: TokensClient
    let unused: UnusedSessions
    let logger: Logger

    package struct Issued {
        package var auth: AuthResponse
        var sessionID: UUID
        /// The account as it was when the user was verified.
        var account: Account
    }

    /// Creates a session for the user of `account`. If the credentials have changed in between, `account` is called
    /// again; after three calls the answer is `UNAVAILABLE`.
    /// - Parameters:
    ///   - verification: how the user is verified. Where another user has verified its identifier too, the answer says
    ///     so, and the app offers to merge the accounts.
    ///   - refusal: the error when the account was deleted in between.
    ///   - account: reads the account of the verified user.
    ///   - confirm: called when the session exists, before the sign-in is recorded. If it throws, the session is
    ///     revoked.
    /// - Throws: what `account` and `confirm` throw, `refusal`, `ACCOUNT_DISABLED`, or `UNAVAILABLE` when there is no
    ///   session.
    package func issue(
        on device: SessionDevice?, by verification: Verification, context: GatehouseRequestContext, refusal: Problem,
        account: () async throws -> Account,
        confirm: () async throws -> Void = {}
    ) async throws -> Issued {
        try await retryingConflicts {
            let verified = try await account()
            AuditedAttempt.note(target: .user(verified.id))
            return try await issueOnce(
                for: verified, on: device, by: verification, context: context, refusal: refusal, confirm: confirm)
        }
    }

    /// - Returns: the session, or `nil` when the credentials have changed in between.
    private func issueOnce(
        for account: Account, on device: SessionDevice?, by verification: Verification,
        context: GatehouseRequestContext, refusal: Problem, confirm: () async throws -> Void
    ) async throws -> Issued? {
        guard account.state == .active else { throw Problem(.accountDisabled) }
        let conflicts = try await conflicts(of: verification.identifier, with: account)
        var issued = try await create(
            for: account, on: device, by: verification.methods, context: context, refusal: refusal)
        issued.auth.conflictingIdentifiers = conflicts
        issued.auth.deviceToken = deviceTokens.issue(to: account.id, renewing: device?.deviceToken)
        let outcome: SignInOutcome
        do {
            try await confirm()
            // A session is issued only if the audit log has recorded it.
            let versions = try await AuditScope.$current.withValue(AuditScope.current?.on(device)) {
                try await AuditStore.recordSignInIfUnchanged(
                    to: account, by: verification, session: issued.sessionID, on: accounts.database)
            }
            outcome = SignInOutcome.decide(verifiedAt: account.credentialsVersion, now: versions)
            if outcome == .valid, versions?.version != account.version {
                // tokens stores no data about users without a session. If this is the user's first session, the
                // snapshot of a change that was made in between is lost, so it is sent again.
                try await OutboxStore.enqueueSnapshot(of: account.id, on: outbox.database)
            }
        } catch {
            await unused.revoke(issued.sessionID, exists: true)
            throw error
        }
        if outcome == .valid {
            await remember(device, verification, of: account, context: context)
            return issued
        }
        await unused.revoke(issued.sessionID, exists: true)
        switch outcome {
        case .gone: throw refusal
        case .disabled: throw Problem(.accountDisabled)
        case .credentialsChanged, .valid: return nil
        }
    }

    /// The kind of the identifier, if another user has verified it; `nil` otherwise. Mail to an address of Apple's own
    /// reaches the user of one app alone, and joins no accounts.
    private func conflicts(of evidence: Identifier?, with account: Account) async throws -> [IdentifierKind]? {
        guard let evidence, !evidence.isRelay, !account.hasVerified(evidence) else { return nil }
        let isTaken = try await IdentifierStore.isVerified(evidence, byOtherThan: account.id, on: accounts.database)
        return isTaken ? [IdentifierKind(rawValue: evidence.kind.rawValue)] : nil
    }

    /// A failure is ignored. The device or network then counts as new at the next sign-in too.
    private func remember(
        _ device: SessionDevice?, _ verification: Verification, of account: Account,
        context: GatehouseRequestContext
    ) async {
        do {
            try await knownDevices.remember(device?.installationId, of: account)
            guard verification.requestsMessages else { return }
            try await knownDevices.remember(network: ClientNetwork.site(of: context.clientAddress), of: account.id)
        } catch {
            logger.warning("A device or network was not remembered", metadata: ["error": "\(error)"])
        }
    }

    private func create(
        for account: Account, on device: SessionDevice?, by methods: [AuthenticationMethod],
        context: GatehouseRequestContext, refusal: Problem
    ) async throws -> Issued {
        var device = device
        device?.deviceToken = nil
        let request = CreateSessionRequest(
            sessionID: .session(of: account.id), snapshot: account.snapshot,
            credentialsVersion: account.credentialsVersion,
            signInAge: (ContinuousClock.now - context.arrivedAt) / .seconds(1), device: device,
            ipAddress: context.clientAddress, authenticationMethods: methods)
        do {
            let auth = try await tokens.createSession(request)
            return Issued(auth: auth, sessionID: request.sessionID, account: account)
        } catch .userDeleted {
            throw refusal
        } catch .unknown(let error) {
            await unused.revoke(request.sessionID, exists: false)
            throw error
        } catch .notMade(let error) {
            throw error
        }
    }
}

extension SessionDevice {
    /// In characters, of each field.
    static let maximumLength = 200

    /// Refuses text that cannot be shown, because the user sees it in the list of sessions.
    /// - Throws: `INVALID_REQUEST` naming the field.
    package func checked() throws(Problem) -> SessionDevice {
        let fields = [
            ("installationId", installationId), ("name", name), ("model", model), ("osVersion", osVersion),
            ("appVersion", appVersion), ("deviceToken", deviceToken),
        ]
        for case (let field, let text?) in fields {
            guard text.utf8.count <= 4 * Self.maximumLength, text.count <= Self.maximumLength,
                !text.unicodeScalars.contains(where: Text.isDeceptive)
            else {
                throw .invalid(
                    "device.\(field)", "This is longer than \(Self.maximumLength) characters or cannot be shown.")
            }
        }
        return self
    }
}
