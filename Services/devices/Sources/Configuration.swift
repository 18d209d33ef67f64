public import Foundation
import GatehouseInstruments
public import GatehouseServiceKit
import GatehouseSettings
public import Sealing
public import ServiceKitPostgres

/// The settings of the devices service.
public struct DevicesConfiguration: Sendable {
    public var database: DatabaseConfiguration
    /// The credentials of the gateway, of identity, and of the services that push.
    public var credentials: CallerCredentials
    public var tokensURLs: [URL]
    public var tokensCredential: String
    /// Seal push tokens.
    public var tokenKeys: KeyRing
    /// One key, by whose hash a push token is found.
    public var tokenHashKey: KeyRing
    var unseen: UnseenRules
    var push: PushConfiguration

    init(settings: Settings) {
        database = DatabaseConfiguration(settings: settings)
        // `operator` is the caller of `devices push`.
        push = PushConfiguration(
            settings: settings, reservedCallers: ["gateway", "identity", DeviceAdministration.caller])
        credentials = settings.credentials(ofCallers: "gateway", "identity").adding(push.callers.credentials)
        tokensURLs = settings.urls("tokensURL", "replicas of tokens")
        tokensCredential = settings.secret("tokensCredential", "devices' credential for tokens")
        tokenKeys = Self.keys(
            "tokenKeysFile", "lines `ID:BASE64` of 32 bytes, which seal push tokens; the first seals new ones", settings
        )
        tokenHashKey = Self.keys(
            "tokenHashKeyFile",
            "line `ID:BASE64` of 32 bytes, under whose hash push tokens are found. Keep it", settings)
        if tokenHashKey.ids.count > 1 {
            settings.problem("tokenHashKeyFile", "must hold one key, because tokens are found under one")
        }
        unseen = UnseenRules(settings: settings)
    }

    private static func keys(_ key: String, _ meaning: String, _ settings: Settings) -> KeyRing {
        settings.read(key, from: settings.secretFile(key, meaning)) { try KeyRing($0) } ?? .placeholder
    }

    /// Registers a metric of the sealing keys that this replica has.
    func registerMetrics() {
        for id in tokenKeys.ids {
            Gauge(
                "devices_key_info", help: "1 for each sealing key, by its use in this replica.",
                labels: [("key", id), ("use", id == tokenKeys.current.id ? "current" : "previous")]
            ).set(1)
        }
    }
}

/// When a device whose app no longer registers is unreachable, and when it is erased.
struct UnseenRules: Sendable, Equatable {
    private static let day = 86_400.0

    /// Days after which nothing is sent to it.
    var pauseDays: Int
    /// Days after which its registration is erased.
    var retentionDays: Int

    /// Whether messages are sent to a device that was last seen then.
    func isReached(lastSeenAt: Date, now: Date) -> Bool {
        now.timeIntervalSince(lastSeenAt) < Double(pauseDays) * Self.day
    }
}

extension UnseenRules {
    init(settings: Settings) {
        let days = 1...36_500
        pauseDays = settings.int(
            "unseenPauseDays", default: 60, in: days, unit: "days",
            "unseen days after which nothing is sent to a device")
        retentionDays = settings.int(
            "unseenRetentionDays", default: 270, in: days, unit: "days",
            "unseen days after which a device is erased")
        if retentionDays < pauseDays {
            settings.problem("unseenRetentionDays", "must not be less than unseenPauseDays")
        }
    }
}
