import GatehouseServiceContracts
import GatehouseServiceKit
import IdentityCore
import Logging
import Sealing
import ServiceKitPostgres
import ServiceLifecycle

/// Sign in with Apple.
package struct AppleFeature: CredentialFeature {
    static let id = CredentialKindID.apple
    static let configuration: any CredentialConfiguration.Type = AppleConfiguration.self
    static let auditEvents = AuditEvent.ofApple
    static let messageKinds = MessageKind.ofApple
    static let expiredRows = AppleNonceStore.expiredRows + AppleNotificationStore.expiredRows

    private let apple: AppleConfiguration
    private let core: CoreParts
    private let server: AppleServer
    private let identities: AppleIdentityStore
    private let grants: AppleGrantStore
    private let appleVerifier: AppleVerifier

    init(_ apple: AppleConfiguration, _ core: CoreParts) {
        let server = AppleServer(httpClient: core.httpClient, configuration: apple)
        self.apple = apple
        self.core = core
        self.server = server
        identities = AppleIdentityStore(database: core.database)
        grants = AppleGrantStore(
            database: core.database, sealer: Sealer(keys: core.sealingKeys, purpose: AppleGrant.sealingPurpose))
        appleVerifier = AppleVerifier(
            tokens: AppleTokenVerifier(
                keys: AppleKeys(rules: apple.keyRules, logger: core.logger) { try await server.keys() },
                logger: core.logger),
            policy: apple.policy, nonceIssuer: AppleNonceIssuer(keys: core.sealingKeys),
            nonceStore: AppleNonceStore(database: core.database),
            transfers: AppleTransferStore(database: core.database), identities: identities, limits: core.limits,
            age: core.age, isOffered: apple.isOffered, logger: core.logger)
    }

    var kind: any CredentialKind {
        AppleCredential(identities: identities, grants: grants, isOffered: apple.isOffered)
    }

    var verifier: any CredentialVerifier { appleVerifier }

    var handlers: [OutboxHandler] {
        AppleGrantDelivery(apple: server, grants: grants, outbox: core.outbox, logger: core.logger).handlers
    }

    var services: [any Service] { [] }

    /// `nil` where the team has no key of its own at Apple.
    package var transfer: AppleTransfer? {
        server.clientSecret.map { AppleTransfer(store: appleVerifier.transfers, apple: server, secret: $0) }
    }

    func addRoutes(to router: ServiceRouter, _ accounts: AccountActions) {
        guard apple.isOffered else {
            return core.logger.notice("Sign in with Apple is off: IDENTITY_APPLE_CLIENT_IDS is not set.")
        }
        AppleRoutes(
            signIn: AppleSignIn(
                identities: identities, grants: grants, nonceStore: appleVerifier.nonceStore, verifier: appleVerifier,
                sessions: core.sessions, worker: accounts.worker, exchangesCodes: server.clientSecret != nil,
                redirectURIs: apple.redirectURIs, logger: core.logger),
            nonceIssuer: appleVerifier.nonceIssuer, limits: core.limits,
            linking: AppleLinking(
                identities: identities, verifier: appleVerifier, age: core.age, notices: core.notices,
                worker: accounts.worker),
            notifications: AppleNotifications(
                notifications: AppleNotificationStore(database: core.database),
                mail: MailForwardingStore(database: core.database), identities: identities, grants: grants,
                accounts: accounts, tokens: core.tokens, verifier: appleVerifier.tokens, policy: apple.policy,
                logger: core.logger)
        ).add(to: router)
    }
}

extension AuditEvent {
    static let appleLinked = Self("apple_linked", published: .userUpdated)
    static let appleUnlinked = Self("apple_unlinked", published: .userUpdated)
    static let appleConsentRevoked = Self("apple_consent_revoked")
    static let appleTransferred = Self("apple_transferred", published: .userUpdated)

    static let ofApple = [appleLinked, appleUnlinked, appleConsentRevoked, appleTransferred]
}

extension AuditedAttempt.Method {
    static let apple = Self("apple", refusal: .invalidAppleToken, isCountedWithoutUser: true)
}

extension MessageKind {
    static let appleLinked = MessageKind(
        "appleLinked", isSecurityNotice: true, allowed: [.app],
        templates: [
            "en": PackageResources.appleLinked_en_txt, "he": PackageResources.appleLinked_he_txt,
            "ru": PackageResources.appleLinked_ru_txt, "ar": PackageResources.appleLinked_ar_txt,
        ])

    static let ofApple = [appleLinked]
}
