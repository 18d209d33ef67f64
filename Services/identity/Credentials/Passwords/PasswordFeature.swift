import GatehouseServiceContracts
import GatehouseServiceKit
import IdentityCore
import Sealing
import ServiceKitPostgres
import ServiceLifecycle

/// Passwords: registering, signing in, changes and resets.
package struct PasswordFeature: CredentialFeature {
    static let id = CredentialKindID.password
    static let configuration: any CredentialConfiguration.Type = PasswordConfiguration.self
    static let auditEvents = AuditEvent.ofPasswords
    static let messageKinds = MessageKind.ofPasswords
    static let expiredRows = PasswordResetStore.expiredRows

    package let passwords: PasswordStore
    package let hasher: PasswordHasher
    package let screening: PasswordScreening
    private let core: CoreParts
    private let importKeys: ImportedPasswordHash.Keys
    private let resetDelivery: PasswordResetDelivery

    init(_ configuration: PasswordConfiguration, _ core: CoreParts) {
        self.core = core
        passwords = PasswordStore(database: core.database)
        hasher = PasswordHasher(
            threads: configuration.hashingThreads, queue: configuration.hashingQueue, pepper: core.pepperKeys,
            parameters: configuration.hashingParameters,
            foreign: ForeignHashing(firebaseSignerKey: configuration.firebaseSignerKey))
        screening = PasswordScreening(
            policy: PasswordPolicy(minimumLength: configuration.passwordMinimumLength),
            breached: configuration.breachedPasswords)
        importKeys = ImportedPasswordHash.Keys(
            peppers: Set(core.pepperKeys.ids), hasFirebaseSignerKey: configuration.firebaseSignerKey != nil)
        resetDelivery = PasswordResetDelivery(
            identifiers: core.identifiers, resets: PasswordResetStore(database: core.database), limits: core.limits,
            sealer: Sealer(keys: core.sealingKeys, purpose: PasswordResetDelivery.sealingPurpose),
            hook: configuration.resetHook.map {
                ResetHook(httpClient: core.httpClient, url: $0.url, secret: $0.secret)
            },
            messages: core.messageDelivery, link: configuration.resetLink)
    }

    var kind: any CredentialKind { PasswordCredential(passwords: passwords, importKeys: importKeys) }
    var verifier: any CredentialVerifier { passwordVerifier }
    var handlers: [OutboxHandler] { resetDelivery.handlers }
    var services: [any Service] { [hasher] }

    private var passwordVerifier: PasswordVerifier {
        PasswordVerifier(
            passwords: passwords, identifiers: core.identifiers, hasher: hasher, limits: core.limits, home: core.home,
            logger: core.logger)
    }

    func addRoutes(to router: ServiceRouter, _ accounts: AccountActions) {
        let (core, verifier) = (core, passwordVerifier)
        PasswordRoutes(
            register: AccountRegistration(
                passwords: passwords, hasher: hasher, screening: screening, sessions: core.sessions,
                limits: core.limits, verifier: verifier, home: core.home),
            login: PasswordSignIn(verifier: verifier, sessions: core.sessions),
            change: PasswordChange(
                passwords: passwords, verifier: verifier, hasher: hasher, screening: screening, limits: core.limits,
                age: core.age, notices: core.notices, delivery: accounts.delivery, worker: accounts.worker),
            reset: PasswordReset(
                resets: resetDelivery.resets, outbox: core.outbox, hasher: hasher, screening: screening,
                limits: core.limits, delivery: accounts.delivery, worker: accounts.worker,
                sealer: resetDelivery.sealer, home: core.home, messages: core.messages, notices: core.notices,
                isHooked: resetDelivery.hook != nil),
            hasher: hasher
        ).add(to: router)
    }
}

extension AuditEvent {
    static let passwordChanged = Self("password_changed", published: .passwordChanged)
    static let passwordReset = Self("password_reset", published: .passwordChanged)
    static let passwordRemoved = Self("password_removed", published: .userUpdated)

    static let ofPasswords = [passwordChanged, passwordReset, passwordRemoved]
}

extension AuditedAttempt.Method {
    static let password = Self("password")
}

extension AuditedAttempt.Action {
    /// A repeated registration with a password other than the account's is refused as one of a taken identifier.
    static let registration = Self(wrongCredential: .identifierTaken)
}

extension MessageKind {
    static let passwordReset = MessageKind(
        "passwordReset", required: .link, allowed: [.link, .app, .minutes], isOptional: false,
        templates: [
            "en": PackageResources.passwordReset_en_txt, "he": PackageResources.passwordReset_he_txt,
            "ru": PackageResources.passwordReset_ru_txt, "ar": PackageResources.passwordReset_ar_txt,
        ])
    static let passwordChanged = MessageKind(
        "passwordChanged", isSecurityNotice: true, allowed: [.app],
        templates: [
            "en": PackageResources.passwordChanged_en_txt, "he": PackageResources.passwordChanged_he_txt,
            "ru": PackageResources.passwordChanged_ru_txt, "ar": PackageResources.passwordChanged_ar_txt,
        ])

    static let ofPasswords = [passwordReset, passwordChanged]
}
