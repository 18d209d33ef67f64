package import Foundation
package import GatehouseServiceKit
package import GatehouseSettings
import ServiceKitPostgres
package import ServiceLifecycle

/// A kind of credential as a part of the service: everything that belongs to it alone.
package protocol CredentialFeature: Sendable {
    static var id: CredentialKindID { get }
    static var configuration: any CredentialConfiguration.Type { get }
    /// The events of the audit log that the kind adds.
    static var auditEvents: [AuditEvent] { get }
    /// The messages to users that the kind adds.
    static var messageKinds: [MessageKind] { get }
    /// The kind's rows that expire after a fixed time.
    static var expiredRows: [ExpiredRows] { get }

    var kind: any CredentialKind { get }
    var verifier: any CredentialVerifier { get }
    /// The tasks of the outbox.
    var handlers: [OutboxHandler] { get }
    /// What runs as long as the service.
    var services: [any Service] { get }

    func addRoutes(to router: ServiceRouter, _ accounts: AccountActions)
}

/// The settings of a kind of credential.
package protocol CredentialConfiguration: Sendable {
    init(settings: Settings)

    func feature(_ core: CoreParts) -> any CredentialFeature

    /// What the operator should know of the kind's surroundings (`identity doctor`).
    func examine(_ examination: Examination) async -> [Finding]
}

/// What a kind of credential may cause beyond itself.
package struct AccountActions: Sendable {
    package let delivery: OutboxDelivery
    package let worker: OutboxWorker
    package let unlinking: Unlinking
    /// Deletes the account of a user whose last credential the provider has ended.
    package let delete: @Sendable (UUID, AuditActor) async throws -> Void

    package init(
        delivery: OutboxDelivery, worker: OutboxWorker, unlinking: Unlinking,
        delete: @escaping @Sendable (UUID, AuditActor) async throws -> Void
    ) {
        self.delivery = delivery
        self.worker = worker
        self.unlinking = unlinking
        self.delete = delete
    }
}
