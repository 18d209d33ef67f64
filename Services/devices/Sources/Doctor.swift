public import ServiceKit
import ServiceKitPostgres

extension DevicesApplication: ExaminedApplication {
    public static func examine(
        _ configuration: DevicesConfiguration, _ examination: Examination
    ) async -> [Finding] {
        await examination.database(of: name, configuration.database, migrations: migrations)
            + examination.examine(
                ExaminedPeer(
                    "tokens", urls: configuration.tokensURLs, credential: configuration.tokensCredential,
                    settings: ("DEVICES_TOKENS_CREDENTIAL", "TOKENS_DEVICES_CREDENTIALS"),
                    probe: .init("/internal/revocations?wait=0")))
    }
}
