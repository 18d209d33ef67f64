import Foundation
import Redis
import ServiceKit
import ServiceKitPostgres
import Settings

/// The settings of the tokens service (docs/reference/settings.md).
public struct TokensConfiguration: Sendable {
    var database: DatabaseConfiguration
    var redis: RedisConfiguration
    var credentials: CallerCredentials
    var issuer: String
    var audience: String
    var clientID: String
    var signingKeys: SigningKeys
    /// The file of the signing keys; `nil` when the environment holds the keys.
    var signingKeyFile: SigningKeyFile?
    var refreshKeys: RefreshKeyRing
    var rules: RotationRules
    var lifetimes: SessionStore.Lifetimes
    var sessionLimit: Int
    /// The token bucket for the refreshes of one session; `nil`: no limit.
    var refreshLimit: (burst: Int, perSecond: Int)?

    /// - Throws: the problems of the settings.
    init(settings: Settings) throws(SettingsError) {
        credentials = settings.credentials(
            ofCallers: "gateway", "identity", "devices", optional: [IntrospectionRoutes.caller])
        issuer = settings.issuer()
        audience = settings.string("audience", default: "gatehouse")
        clientID = settings.string("clientID", default: "com.example.app")
        lifetimes = SessionStore.Lifetimes(
            access: TimeInterval(settings.accessTokenLifetime()),
            idle: settings.interval("idleLifetime", default: 2_592_000, atLeast: 1),
            absolute: settings.interval("absoluteLifetime", default: 31_536_000, atLeast: 1))
        rules = RotationRules(
            retryWindow: settings.retryWindow(),
            raceWindow: settings.interval("raceWindow", default: 5),
            lateReplayLimit: settings.int("lateReplayLimit", default: 3, in: 0...1000),
            mode: settings.choice("rotationMode", default: .resilient))
        sessionLimit = settings.int("sessionLimit", default: 100, in: 1...10_000)
        let (burst, perSecond) = (
            settings.int("refreshLimitBurst", default: 1000, in: 1...1_000_000),
            settings.int("refreshLimitPerSecond", default: 10, in: 1...1_000_000)
        )
        refreshLimit = settings.rateLimitsEnabled ? (burst, perSecond) : nil
        database = DatabaseConfiguration(settings: settings)
        let redis = settings.read("redisURL", from: settings.string("redisURL", secret: true)) { url in
            try RedisConfiguration(url: url)
        }
        settings.requireTLS(
            of: "redisURL", by: "redisTLS", isProtected: redis?.isProtected ?? true, remedy: "begin it with rediss://")
        let (signingKeys, signingKeyFile) = settings.signingKeys()
        let refreshKeys = settings.read("refreshKeysFile", from: settings.secretFile("refreshKeysFile")) { file in
            try RefreshKeyRing(file: file)
        }
        guard let redis, let signingKeys, let refreshKeys else { throw settings.failure }
        self.redis = redis
        self.signingKeys = signingKeys
        self.signingKeyFile = signingKeyFile
        self.refreshKeys = refreshKeys
    }

    /// Seconds that the revocation feed keeps its entries: 7 days, and twice the largest access lifetime.
    var revocationRetention: TimeInterval { max(604_800, 2 * lifetimes.access) }
}

extension Settings {
    /// Seconds (``RotationRules/retryWindow``).
    func retryWindow() -> TimeInterval { interval("retryWindow", default: 60) }

    /// Whole seconds.
    fileprivate func interval(_ key: String, default defaultValue: Int, atLeast minimum: Int = 0) -> TimeInterval {
        TimeInterval(int(key, default: defaultValue, in: minimum...Int(Int32.max)))
    }

    /// The issuer of the tokens; in production an address that RFC 8414 §2 allows.
    fileprivate func issuer() -> String {
        guard environment == .production else { return string("issuer", default: "http://gatehouse.localhost") }
        let issuer = string("issuer")
        let parts = URLComponents(string: issuer)
        let isAddress =
            parts?.scheme == "https" && parts?.namesServer == true && parts?.query == nil && parts?.fragment == nil
        if !issuer.isEmpty, !isAddress {
            problem("issuer", "must be an https address without query or fragment, not '\(issuer)'")
        }
        return issuer
    }

    /// The signing keys of the environment, or of a file, which may then change while the service runs.
    fileprivate func signingKeys() -> (SigningKeys?, SigningKeyFile?) {
        let path = optionalString("signingKeyFile")
        guard let text = optionalString("signingKey", secret: true) else {
            let keys = read("signingKeyFile", from: secretFile("signingKeyFile")) { try SigningKeys(text: $0) }
            return (keys, path.map { SigningKeyFile(path: $0) })
        }
        if path != nil { problem("signingKey", "is set, and TOKENS_SIGNING_KEY_FILE too: one of them is enough") }
        let keys = read("signingKey", from: text) { try SigningKeys(text: $0) }
        if environment == .production, keys?.isForDevelopment == true {
            problem("signingKey", "was made for development")
        }
        return (keys, nil)
    }
}
