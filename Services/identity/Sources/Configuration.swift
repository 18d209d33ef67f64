import AsyncHTTPClient
import Foundation
import GatehouseServiceKit
import GatehouseSettings
import IdentityCore
import Postgres
import Redis
import ServiceKitPostgres

/// The settings of the identity service.
public struct IdentityConfiguration: Sendable {
    var database: DatabaseConfiguration
    var redis: RedisConfiguration
    var credentials: CallerCredentials
    var tokens: Peer
    var devices: Peer
    /// The settings of each kind of credential.
    var credentialKinds: [any CredentialConfiguration]
    var core: CoreConfiguration
    /// The role of users who may administer other users.
    var operatorRole: Role
    /// Days for which the audit log is kept; `nil` keeps it for ever.
    var auditRetention: Int?
    /// Days for which the origins of the audit log's actors are kept.
    var auditOriginRetention: Int
    /// Days after which an unused account that has verified nothing is deleted; `nil` keeps it.
    var unverifiedRetention: Int?
    /// Where events are posted to.
    var webhooks: [Webhook]

    /// Another service of Gatehouse.
    struct Peer: Sendable {
        var name: String
        var urls: [URL]
        var credential: String
        /// How long the other service may itself wait, for example for its database.
        var dependencyTimeout: Duration

        fileprivate init(_ name: String, _ settings: Settings) {
            self.name = name
            urls = settings.urls("\(name)URL", "replicas of \(name)")
            credential = settings.secret("\(name)Credential", "identity's credential for \(name)")
            dependencyTimeout = settings.dependencyTimeout
        }

        func client(_ httpClient: HTTPClient) -> ServiceClient {
            ServiceClient(
                callee: name, urls: urls, credential: credential, httpClient: httpClient,
                dependencyTimeout: dependencyTimeout)
        }
    }

    init(settings: Settings) {
        database = DatabaseConfiguration(settings: settings)
        let redisURL = settings.string("redisURL", secret: true, "attempt limits: `redis://…` or `rediss://…`")
        // The placeholder for an address that is missing or invalid. It is on this machine, so that it does not cause a
        // second error about TLS.
        redis =
            settings.read("redisURL", from: redisURL) { try RedisConfiguration(url: $0) }
            ?? RedisConfiguration(host: "localhost")
        settings.requireTLS(
            of: "redisURL", by: "redisTLS", isProtected: redis.isProtected, remedy: "begin it with rediss://")
        credentials = settings.credentials(
            ofCallers: "gateway",
            optional: [
                "events": "readers of the event feed", "admin": "callers of `/internal/admin`",
                "bounces": "callers that report bounced mail",
            ])
        webhooks = Self.webhooks(settings)
        tokens = Peer("tokens", settings)
        devices = Peer("devices", settings)
        credentialKinds = IdentityApplication.credentialFeatures.map { $0.configuration.init(settings: settings) }
        core = CoreConfiguration(settings: settings, templates: .builtIn)
        let role = settings.string(
            "operatorRole", default: Role.operator.name,
            "role of users who may administer others, not `user`. Must equal `GATEWAY_OPERATOR_ROLE`")
        operatorRole = settings.read("operatorRole", from: role) { try Role(ofOperators: $0) } ?? .operator
        let auditDays = settings.int(
            "auditRetentionDays", default: 730, in: 0...36_500, unit: "days",
            "retention of the audit log; 0 keeps it forever")
        auditRetention = auditDays == 0 ? nil : auditDays
        auditOriginRetention = settings.int(
            "auditOriginRetentionDays", default: 90, in: 0...36_500, unit: "days",
            "retention of addresses and clients in the audit log; 0 keeps them for minutes")
        let unverifiedDays = settings.int(
            "unverifiedRetentionDays", default: 0, in: 0...36_500, unit: "days",
            """
            after so many days without an audit entry an unverified account is deleted; 0 keeps it. At most \
            `IDENTITY_AUDIT_RETENTION_DAYS`, unless that is 0
            """)
        unverifiedRetention = unverifiedDays == 0 ? nil : unverifiedDays
        if let auditRetention, unverifiedDays > auditRetention {
            settings.problem(
                "unverifiedRetentionDays", "must not be more than auditRetentionDays: the audit log has the sign-ins")
        }
    }

    /// The lists of secrets and addresses must have the same length and order.
    private static func webhooks(_ settings: Settings) -> [Webhook] {
        let urls = settings.optionalURLs("webhookURLs", "receivers of events, each once")
        let secrets = settings.optionalSecrets(
            "webhookSecrets",
            "one secret per receiver, in the same order, of \(Webhook.minimumSecretLength) characters or more")
        if urls.count != secrets.count {
            settings.problem("webhookSecrets", "must hold one secret for each address of webhookURLs")
        }
        if secrets.contains(where: { $0.utf8.count < Webhook.minimumSecretLength }) {
            settings.problem("webhookSecrets", "must be at least \(Webhook.minimumSecretLength) characters long each")
        }
        if Set(urls).count < urls.count { settings.problem("webhookURLs", "holds an address twice") }
        return zip(urls, secrets).map { Webhook(url: $0, secret: $1) }
    }
}
