public import ServiceKit
import ServiceKitPostgres
import Settings

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
            + sealingKeys(examination)
    }

    /// The key of the hashes has no age: it stays.
    private static func sealingKeys(_ examination: Examination) -> [Finding] {
        Settings(service: name).optionalString("tokenKeysFile").map { path in
            [
                examination.age(
                    of: "The sealing keys", in: path,
                    remedy: "Put a new key first and keep the old ones: docs/operations/keys.md.")
            ]
        } ?? []
    }
}
