public import Foundation
import ServiceKit
public import Settings

/// What the commands on keys take from the service's settings: the environment, and the file that
/// `TOKENS_CONFIG_FILE` names.
public struct KeySettings: Sendable {
    /// Where the signing keys are.
    public let signingKeyFile: String?
    /// Where the refresh keys are.
    public let refreshKeysFile: String?
    /// Seconds that an access token lives at most.
    public let accessTokenLifetime: Int

    /// - Parameter environment: the process' environment; another one in tests.
    /// - Throws: `SettingsError`
    public init(environment: [String: String] = ProcessInfo.processInfo.environment) throws(SettingsError) {
        let settings = Settings(service: TokensApplication.name, environment: environment)
        signingKeyFile = settings.optionalString("signingKeyFile")
        refreshKeysFile = settings.optionalString("refreshKeysFile")
        accessTokenLifetime = settings.accessTokenLifetime()
        try settings.finish(allowingUnknown: true)
    }
}

extension Settings {
    /// Seconds that an access token lives at most.
    func accessTokenLifetime() -> Int { int("accessTokenLifetime", default: 3600, in: 1...Int(Int32.max)) }
}
