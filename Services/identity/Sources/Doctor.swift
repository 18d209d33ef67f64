import Foundation
public import GatehouseServiceKit
import GatehouseSettings
import IdentityCore
import Redis
import ServiceKitPostgres

extension IdentityApplication: ExaminedApplication {
    public static func examine(
        _ configuration: IdentityConfiguration, _ examination: Examination
    ) async -> [Finding] {
        var findings = await examination.database(of: name, configuration.database, migrations: migrations)
        let redis = configuration.redis
        findings += await examination.redis(
            tls: redis.tls.map { _ in TLSServer("Redis", host: redis.host, port: redis.port) }
        ) {
            try await RedisClient.info(
                of: redis, on: examination.eventLoopGroup, logger: examination.logger)
        }
        let unknownUser = UUID().uuidString.lowercased()
        findings += await examination.examine(
            ExaminedPeer(
                "tokens", urls: configuration.tokens.urls, credential: configuration.tokens.credential,
                settings: ("IDENTITY_TOKENS_CREDENTIAL", "TOKENS_IDENTITY_CREDENTIALS"),
                probe: .init("/internal/users/\(unknownUser)/sessions")))
        findings += await examination.examine(
            ExaminedPeer(
                "devices", urls: configuration.devices.urls, credential: configuration.devices.credential,
                settings: ("IDENTITY_DEVICES_CREDENTIAL", "DEVICES_IDENTITY_CREDENTIALS"),
                probe: .init("/internal/users/\(unknownUser)/devices")))
        for kind in configuration.credentialKinds { findings += await kind.examine(examination) }
        return findings + keyFiles(examination)
    }

    private static func keyFiles(_ examination: Examination) -> [Finding] {
        let settings = Settings(service: name)
        return [("The peppers", "pepperKeysFile"), ("The sealing keys", "sealingKeysFile")].compactMap { what, key in
            settings.optionalString(key).map { path in
                examination.age(
                    of: what, in: path,
                    remedy: "Put a new key first and keep the old ones: docs/operations/keys.md.")
            }
        }
    }
}
