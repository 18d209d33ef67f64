import GatehouseBytes
public import GatehouseServiceKit
import GatehouseSettings
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
            + sealingKeys(examination) + configuration.push.findings
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

extension PushConfiguration {
    /// The obstacles to sending pushes.
    var findings: [Finding] {
        guard !keys.isEmpty else {
            return callers.callers.isEmpty
                ? [.fine("Push delivery is off: DEVICES_APNS_KEYS_FILE is not set.")]
                : [
                    .warning(
                        "Services may push, and DEVICES_APNS_KEYS_FILE is not set: pushes are refused.",
                        remedy: "Create a key for APNs in Apple's developer account, and name it in that file.")
                ]
        }
        var findings = keys.map { key in
            Finding.fine(
                "The key \(key.keyID) of team \(key.team) sends pushes to "
                    + (key.topics.map { $0.map(\.description).sorted().joined(separator: ", ") }
                        ?? "every app of the team") + ".")
        }
        for caller in callers.callers.values.sorted(by: { $0.name < $1.name }) {
            let apps = caller.bundleIDs.filter { app in !keys.contains { $0.isFor(app) } }
            guard !apps.isEmpty else { continue }
            findings.append(
                .problem(
                    "\(caller.name) may push to \(apps.sorted().joined(separator: ", ")), for which no key is there.",
                    remedy: "Add the key to DEVICES_APNS_KEYS_FILE, or the bundle id to its topics."))
        }
        if callers.callers.isEmpty {
            findings.append(
                .warning(
                    "No service may push: DEVICES_PUSH_CALLERS_FILE is not set.",
                    remedy: "Name the services and their credentials in that file."))
        }
        return findings
    }
}
