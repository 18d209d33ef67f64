import GatehouseServiceKit
import GatehouseSettings
import IdentityCore
import Sealing
import ServiceKitPostgres
import ServiceLifecycle

/// Codes that are sent to identifiers: signing in with them, and verifying identifiers.
package struct CodeFeature: CredentialFeature {
    static let id = CredentialKindID.code
    static let configuration: any CredentialConfiguration.Type = CodeConfiguration.self
    static let auditEvents: [AuditEvent] = []
    static let messageKinds = MessageKind.ofCodes
    static let expiredRows = CodeStore.expiredRows

    private let core: CoreParts
    /// Also verifies the new identifier of a signed-in user.
    package let codeVerifier: CodeVerifier

    init(_ core: CoreParts) {
        self.core = core
        codeVerifier = CodeVerifier(
            codes: CodeStore(
                database: core.database, keys: CodeKeys(core.pepperKeys),
                sealer: Sealer(keys: core.sealingKeys, purpose: CodeStore.sealingPurpose)),
            limits: core.limits, accounts: CodeAccountStore(database: core.database), home: core.home,
            logger: core.logger)
    }

    var kind: any CredentialKind { CodeCredential(channels: core.messages.senders.kinds) }
    var verifier: any CredentialVerifier { codeVerifier }
    var handlers: [OutboxHandler] { [] }
    var services: [any Service] { [] }

    func addRoutes(to router: ServiceRouter, _ accounts: AccountActions) {
        CodeRoutes(
            dispatch: CodeDispatch(
                codes: codeVerifier.codes, messages: core.messages, limits: core.limits, worker: accounts.worker,
                home: core.home),
            verification: CodeVerification(
                verifier: codeVerifier, sessions: core.sessions, reauthentication: core.reauthentication,
                worker: accounts.worker)
        ).add(to: router)
    }
}

/// Codes have no settings of their own: those of messages apply.
struct CodeConfiguration: CredentialConfiguration {
    init(settings: Settings) {}

    func feature(_ core: CoreParts) -> any CredentialFeature { CodeFeature(core) }

    func examine(_ examination: Examination) async -> [Finding] { [] }
}

extension AuditedAttempt.Method {
    static let code = Self("code", yieldsToBearerError: true)
}
