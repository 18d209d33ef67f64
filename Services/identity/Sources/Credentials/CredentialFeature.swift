import Foundation
import ServiceKit
import ServiceKitPostgres
import ServiceLifecycle

/// A kind of credential as a part of the service: everything that belongs to it alone.
protocol CredentialFeature: Sendable {
    /// The events of the audit log that the kind adds.
    static var auditEvents: [AuditEvent] { get }
    /// The messages to users that the kind adds.
    static var messageKinds: [MessageKind] { get }
    /// The kind's rows that expire after a fixed time.
    static var expiredRows: [ExpiredRows] { get }

    init(_ configuration: IdentityConfiguration, _ core: IdentityCore)

    var kind: any CredentialKind { get }
    var verifier: any CredentialVerifier { get }
    /// The tasks of the outbox.
    var handlers: [OutboxHandler] { get }
    /// What runs as long as the service.
    var services: [any Service] { get }

    func addRoutes(to router: ServiceRouter, _ accounts: AccountActions)
}

/// What a kind of credential may cause beyond itself.
struct AccountActions: Sendable {
    let delivery: OutboxDelivery
    let worker: OutboxWorker
    let unlinking: Unlinking
    /// Deletes the account of a user whose last credential the provider has ended.
    let delete: @Sendable (UUID, AuditActor) async throws -> Void
}
