import Foundation
import GatehouseServiceKit
import GatehouseSettings
import Redis
import ServiceKitPostgres

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
            ofCallers: "gateway", "identity", "devices",
            optional: [IntrospectionRoutes.caller: "services of your own, for introspection and the feed"])
        issuer = settings.issuer()
        audience = settings.string("audience", default: "gatehouse", "`aud` of access tokens")
        clientID = settings.string("clientID", default: "com.example.app", "`client_id` of access tokens")
        lifetimes = SessionStore.Lifetimes(
            access: TimeInterval(settings.accessTokenLifetime()),
            idle: settings.interval(
                "idleLifetime", default: 2_592_000, atLeast: 1, "a session expires this long after its last refresh"),
            absolute: settings.interval(
                "absoluteLifetime", default: 31_536_000, atLeast: 1, "a session expires this long after its sign-in"))
        rules = RotationRules(
            retryWindow: settings.retryWindow(),
            raceWindow: settings.interval(
                "raceWindow", default: 5, "after a rotation an older token is answered `UNAVAILABLE`"),
            lateReplayLimit: settings.int(
                "lateReplayLimit", default: 3, in: 0...1000, "late replays before a session is revoked"),
            mode: settings.choice("rotationMode", default: .resilient, "`strict`: a late replay counts as theft"))
        sessionLimit = settings.int(
            "sessionLimit", default: 100, in: 1...10_000,
            "maximum sessions per user. One more ends the least recently used")
        let (burst, perSecond) = (
            settings.int(
                "refreshLimitBurst", default: 1000, in: 1...1_000_000,
                "refreshes of one session that a replica answers at once. Requests that share an answer count once"),
            settings.int(
                "refreshLimitPerSecond", default: 10, in: 1...1_000_000,
                "refreshes of one session that a replica answers in a second. More are answered 429")
        )
        refreshLimit = settings.rateLimitsEnabled ? (burst, perSecond) : nil
        database = DatabaseConfiguration(settings: settings)
        let redisURL = settings.string("redisURL", secret: true, "race locks: `redis://…` or `rediss://…`")
        let redis = settings.read("redisURL", from: redisURL) { try RedisConfiguration(url: $0) }
        settings.requireTLS(
            of: "redisURL", by: "redisTLS", isProtected: redis?.isProtected ?? true, remedy: "begin it with rediss://")
        let (signingKeys, signingKeyFile) = settings.signingKeys()
        let refreshKeysFile = settings.secretFile(
            "refreshKeysFile", "lines `ID:BASE64` of 32 bytes; the first key mints new tokens. Read at start")
        refreshKeys =
            settings.read("refreshKeysFile", from: refreshKeysFile) { try RefreshKeyRing(file: $0) } ?? .placeholder
        guard let redis, let signingKeys else { throw settings.failure }
        self.redis = redis
        self.signingKeys = signingKeys
        self.signingKeyFile = signingKeyFile
    }

    /// Seconds that the revocation feed keeps its entries: 7 days, and twice the largest access lifetime.
    var revocationRetention: TimeInterval { max(604_800, 2 * lifetimes.access) }
}

extension Settings {
    /// Seconds (``RotationRules/retryWindow``).
    func retryWindow() -> TimeInterval {
        interval("retryWindow", default: 60, "the predecessor gets the identical successor")
    }

    /// Whole seconds.
    fileprivate func interval(
        _ key: String, default defaultValue: Int, atLeast minimum: Int = 0, _ meaning: String
    ) -> TimeInterval {
        TimeInterval(int(key, default: defaultValue, in: minimum...Int(Int32.max), unit: "seconds", meaning))
    }

    /// The issuer of the tokens; in production an address that RFC 8414 §2 allows.
    fileprivate func issuer() -> String {
        let issuer = string(
            "issuer", default: environment == .development ? "http://gatehouse.localhost" : nil,
            "`iss`: the gateway's public address. In production https, without query and fragment")
        let parts = URLComponents(string: issuer)
        let isAddress =
            parts?.scheme == "https" && parts?.namesServer == true && parts?.query == nil && parts?.fragment == nil
        if environment == .production, !issuer.isEmpty, !isAddress {
            problem("issuer", "must be an https address without query or fragment, not '\(issuer)'")
        }
        return issuer
    }

    /// The signing keys of the environment, or of a file, which may then change while the service runs.
    fileprivate func signingKeys() -> (SigningKeys?, SigningKeyFile?) {
        let meaning = """
            private RSA keys in PEM, 2048 bits or more. Followed while the service runs. Required without \
            `TOKENS_SIGNING_KEY`
            """
        let path = optionalPath("signingKeyFile", meaning)
        let text = optionalString("signingKey", secret: true, "the text of `TOKENS_SIGNING_KEY_FILE`. Only one of both")
        guard let text else {
            let file = optionalSecretFile("signingKeyFile", meaning)
            if path == nil { problem("signingKeyFile", "is not set") }
            if file == "" { problem("signingKeyFile", "names a file that is empty") }
            let keys = read("signingKeyFile", from: file ?? "") { try SigningKeys(text: $0) }
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
