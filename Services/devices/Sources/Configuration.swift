public import Foundation
public import ServiceKit
public import ServiceKitPostgres
import Settings

/// Everything that devices is told from outside.
public struct DevicesConfiguration: Sendable {
    public var database: DatabaseConfiguration
    /// Those of gateway and identity.
    public var credentials: CallerCredentials
    public var tokensURLs: [URL]
    public var tokensCredential: String

    init(settings: Settings) {
        database = DatabaseConfiguration(settings: settings)
        credentials = settings.credentials(ofCallers: "gateway", "identity")
        tokensURLs = settings.urls("tokensURL")
        tokensCredential = settings.secret("tokensCredential")
    }
}
