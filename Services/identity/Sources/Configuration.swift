import AsyncHTTPClient
import Foundation
import Postgres
import Redis
import ServiceKit
import ServiceKitPostgres
import Verbatim

/// Everything that identity is told from outside.
public struct IdentityConfiguration: Sendable {
    var database: DatabaseConfiguration
    /// `nil` where the settings are wrong and nothing will run.
    var redis: RedisConfiguration?
    var isLimited: Bool
    var credentials: CallerCredentials
    var tokens: Peer
    var devices: Peer
    var apple: Apple
    var sealingKeys: KeyRing
    var pepperKeys: KeyRing
    var passwordMinimumLength: Int
    var hashingThreads: Int
    var hashingQueue: Int
    var home: PhoneRegion?
    var resetHook: ResetHookSettings?
    /// To everybody together.
    var resetMessagesPerHour: Int
    /// Days; `nil` keeps entries for ever.
    var auditRetention: Int?

    /// Another service of Gatehouse's.
    struct Peer: Sendable {
        var name: String
        var urls: [URL]
        var credential: String
        /// How long it may wait for what it needs itself.
        var patience: Duration

        func client(_ httpClient: HTTPClient) -> ServiceClient {
            ServiceClient(callee: name, urls: urls, credential: credential, httpClient: httpClient, patience: patience)
        }
    }

    struct Apple: Sendable {
        var keysURL: URL
        var tokenURL: URL
        var revokeURL: URL
        var policy: AppleTokenPolicy
        var keyRules: AppleKeyCache<AppleKeySet>.Rules
        var clientSecret: AppleClientSecret?
    }

    struct ResetHookSettings: Sendable {
        var url: URL
        var secret: String
    }

    init(settings: Settings) {
        database = DatabaseConfiguration(settings: settings)
        redis = settings.read("redisURL", from: settings.string("redisURL", secret: true)) { url in
            try RedisConfiguration(url: url)
        }
        settings.requireTLS(
            of: "redisURL", by: "redisTLS", isProtected: redis?.isProtected ?? true, remedy: "begin it with rediss://")
        isLimited = settings.rateLimitsEnabled
        credentials = settings.credentials(ofCallers: "gateway")
        tokens = Peer(
            name: "tokens", urls: settings.urls("tokensURL"), credential: settings.secret("tokensCredential"),
            patience: settings.patience)
        devices = Peer(
            name: "devices", urls: settings.urls("devicesURL"), credential: settings.secret("devicesCredential"),
            patience: settings.patience)
        apple = Apple(settings: settings)
        sealingKeys = Self.keys("sealingKeysFile", settings)
        pepperKeys = Self.keys("pepperKeysFile", settings)
        passwordMinimumLength = settings.int("passwordMinimumLength", default: 8, in: 8...64)
        hashingThreads = settings.int(
            "hashingThreads", default: max(1, ProcessInfo.processInfo.activeProcessorCount), in: 1...256)
        hashingQueue = settings.int("hashingQueue", default: 64, in: 1...10_000)
        home = settings.optionalString("phoneCallingCode").flatMap { code in
            settings.read("phoneCallingCode", from: code) { try PhoneRegion(callingCode: $0) }
        }
        resetMessagesPerHour = settings.int("resetMessagesPerHour", default: 600, in: 1...1_000_000)
        let auditDays = settings.int("auditRetentionDays", default: 730, in: 0...36_500)
        auditRetention = auditDays == 0 ? nil : auditDays
        let hookURL = settings.optionalString("resetHookURL") == nil ? nil : settings.url("resetHookURL")
        let hookSecret = settings.optionalString("resetHookSecret", secret: true)
        switch (hookURL, hookSecret) {
        case (let url?, let secret?): resetHook = ResetHookSettings(url: url, secret: secret)
        case (_?, nil): settings.problem("resetHookSecret", "is not set, but resetHookURL is")
        case (nil, _?): settings.problem("resetHookURL", "is not set, but resetHookSecret is")
        case (nil, nil): break
        }
    }

    private static func keys(_ key: String, _ settings: Settings) -> KeyRing {
        settings.read(key, from: settings.secretFile(key)) { try KeyRing($0) } ?? .placeholder
    }
}

extension IdentityConfiguration.Apple {
    init(settings: Settings) {
        keysURL = settings.url("appleKeysURL", default: "https://appleid.apple.com/auth/keys")
        tokenURL = settings.url("appleTokenURL", default: "https://appleid.apple.com/auth/token")
        revokeURL = settings.url("appleRevokeURL", default: "https://appleid.apple.com/auth/revoke")
        let clientIDs = settings.strings(
            "appleClientIDs", default: settings.environment == .development ? ["com.example.app"] : nil)
        policy = AppleTokenPolicy(
            issuers: Set(
                verbatim: settings.strings("appleIssuers", default: AppleTokenPolicy.appleIssuers.map(\.text))),
            clientIDs: Set(verbatim: clientIDs), nonceRule: settings.choice("appleNonce", default: .optional))
        keyRules = AppleKeyCache.Rules()
        keyRules.unknownKeyCooldown = settings.seconds("appleKeysCooldown", default: 30, in: 0...3600)
        clientSecret = Self.clientSecret(settings)
    }

    /// All three parts of the team's own key, or none.
    private static func clientSecret(_ settings: Settings) -> AppleClientSecret? {
        let teamID = settings.optionalString("appleTeamID")
        let keyID = settings.optionalString("appleKeyID")
        let pem = settings.optionalSecretFile("applePrivateKeyFile")
        guard let teamID, let keyID, let pem else {
            let parts = [("appleTeamID", teamID), ("appleKeyID", keyID), ("applePrivateKeyFile", pem)]
            if parts.contains(where: { $0.1 != nil }) {
                for (name, value) in parts where value == nil {
                    settings.problem(name, "is not set, but others of Apple's key are")
                }
            }
            return nil
        }
        do {
            return try AppleClientSecret(teamID: teamID, keyID: keyID, pem: pem)
        } catch {
            settings.problem("applePrivateKeyFile", "names a file that holds no P-256 private key in PEM")
            return nil
        }
    }
}
