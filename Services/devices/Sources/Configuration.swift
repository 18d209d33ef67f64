public import Foundation
public import ServiceKit
public import ServiceKitPostgres
import Settings

/// The settings of the devices service.
public struct DevicesConfiguration: Sendable {
    public var database: DatabaseConfiguration
    /// The credentials of the gateway and of identity.
    public var credentials: CallerCredentials
    public var tokensURLs: [URL]
    public var tokensCredential: String

    init(settings: Settings) {
        database = DatabaseConfiguration(settings: settings)
        credentials = settings.credentials(ofCallers: "gateway", "identity")
        tokensURLs = settings.urls("tokensURL", "replicas of tokens")
        tokensCredential = settings.secret("tokensCredential", "devices' credential for tokens")
    }
}
