import Crypto
import Foundation
import GatehouseAccessTokens
import TestKit

/// The environment of a system under test: what `make up` sets, with keys and addresses of its own.
enum SystemSettings {
    /// For suites in which parts fail: services are as impatient as in production.
    static func impatient(_ further: [String: String] = [:]) -> [String: String] {
        further.merging(["GATEHOUSE_PATIENCE_MS": "1500"]) { given, _ in given }
    }

    /// For a team with a website beside its app.
    static let web = [
        "IDENTITY_APPLE_CLIENT_IDS": "com.example.app,com.example.web",
        "IDENTITY_APPLE_REDIRECT_URIS": "https://shop.example/apple,https://example.org/signed-in",
    ]

    /// That of a service that pushes.
    static let ordersCredential = "dev-orders-devices"

    static func make(
        databases: [String: String], redisURL: String, ports: SystemPorts, keys folder: URL
    ) async throws -> [String: String] {
        func write(_ name: String, _ text: String) throws -> String {
            let file = folder.appending(path: name)
            try Data("# development\n\(text)".utf8).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path())
            return file.path()
        }
        func keyFile(_ name: String) throws -> String {
            let key = Data((0..<32).map { _ in UInt8.random(in: 0...255) })
            return try write(name, "1:\(key.base64EncodedString())\n")
        }

        let appleKey = try write("apple-client-secret.p8", P256.Signing.PrivateKey().pemRepresentation)
        let apnsFolder = folder.appending(path: "apns")
        try FileManager.default.createDirectory(at: apnsFolder, withIntermediateDirectories: true)
        let apns = try await TestCertificate.make(in: apnsFolder)
        let apnsURL = "https://127.0.0.1:\(ports.apnsPort)"
        var environment = [
            "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "",
            "GATEHOUSE_ENVIRONMENT": "development",
            "GATEHOUSE_RATE_LIMITS": "off",
            // Patient, because the machine may be busy with other tests.
            "GATEHOUSE_PATIENCE_MS": "20000",
            "GATEWAY_TOKENS_URL": ports.tokensURLs.joined(separator: ","),
            "GATEWAY_IDENTITY_URL": ports.url("identity"),
            "GATEWAY_DEVICES_URL": ports.url("devices"),
            "IDENTITY_TOKENS_URL": ports.tokensURLs.joined(separator: ","),
            "IDENTITY_DEVICES_URL": ports.url("devices"),
            "DEVICES_TOKENS_URL": ports.tokensURLs.joined(separator: ","),
            "GATEWAY_REDIS_URL": redisURL,
            "IDENTITY_REDIS_URL": redisURL,
            "TOKENS_REDIS_URL": redisURL,
            "TOKENS_SIGNING_KEY_FILE": try write("access-token-private.pem", RSAPrivateKey.generate().pem),
            "TOKENS_REFRESH_KEYS_FILE": try keyFile("refresh.keys"),
            "IDENTITY_SEALING_KEYS_FILE": try keyFile("sealing.keys"),
            "IDENTITY_PEPPER_KEYS_FILE": try keyFile("pepper.keys"),
            "DEVICES_TOKEN_KEYS_FILE": try keyFile("push-tokens.keys"),
            "DEVICES_TOKEN_HASH_KEY_FILE": try keyFile("push-token-hash.key"),
            "IDENTITY_APPLE_TEAM_ID": "TEAM000000",
            "IDENTITY_APPLE_KEY_ID": "KEY0000000",
            "IDENTITY_APPLE_PRIVATE_KEY_FILE": appleKey,
            "IDENTITY_APPLE_KEYS_URL": ports.url("apple-simulator") + "/auth/keys",
            "IDENTITY_APPLE_TOKEN_URL": ports.url("apple-simulator") + "/auth/token",
            "IDENTITY_APPLE_REVOKE_URL": ports.url("apple-simulator") + "/auth/revoke",
            "IDENTITY_APPLE_MIGRATION_URL": ports.url("apple-simulator") + "/auth/usermigrationinfo",
            "APPLE_SIMULATOR_APNS_LISTEN_ADDRESS": "127.0.0.1:\(ports.apnsPort)",
            "APPLE_SIMULATOR_APNS_KEY_FILE": appleKey,
            "APPLE_SIMULATOR_APNS_CERTIFICATE_FILE": apns.certificate.path(),
            "APPLE_SIMULATOR_APNS_CERTIFICATE_KEY_FILE": apns.key.path(),
            "APPLE_SIMULATOR_APNS_LOG_FILE": folder.appending(path: "apns-pushes.log").path(),
            "DEVICES_APNS_AUTHORITIES_FILE": apns.authority.path(),
            "DEVICES_APNS_KEYS_FILE": try write(
                "apns-keys.yaml", "keys: [{team: DEVTEAM000, keyId: DEVKEY0000, file: '\(appleKey)'}]\n"),
            "DEVICES_PUSH_CALLERS_FILE": try write(
                "push-callers.yaml",
                """
                callers: [{name: orders, credential: \(ordersCredential), bundleIds: [com.example.app], \
                pushTypes: [alert, background, voip, liveactivity]}]

                """),
            "DEVICES_APNS_PRODUCTION_URL": apnsURL,
            "DEVICES_APNS_SANDBOX_URL": apnsURL,
            "DEVICES_APNS_PRODUCTION_CHANNELS_URL": apnsURL,
            "DEVICES_APNS_SANDBOX_CHANNELS_URL": apnsURL,
        ]
        for (caller, callee) in [
            ("GATEWAY", "TOKENS"), ("GATEWAY", "IDENTITY"), ("GATEWAY", "DEVICES"), ("IDENTITY", "TOKENS"),
            ("IDENTITY", "DEVICES"), ("DEVICES", "TOKENS"), ("INTROSPECTION", "TOKENS"),
        ] {
            let credential = "dev-\(UUID().uuidString)"
            environment["\(caller)_\(callee)_CREDENTIAL"] = credential
            environment["\(callee)_\(caller)_CREDENTIALS"] = credential
        }
        for (service, url) in databases { environment["\(service.uppercased())_DATABASE_URL"] = url }
        return environment
    }
}
