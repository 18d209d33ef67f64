import Foundation
import Postgres
import Redis
import TestKit
import Testing

private let everythingIsLogged = SystemSettings.impatient([
    "GATEHOUSE_LOG_LEVEL": "trace", "GATEWAY_ACCESS_LOG_PERCENT": "100",
    "IDENTITY_CODE_LINK_URL": "https://shop.example.com/open",
])

/// No token, password or key stands in a database, in Redis, in a log or in the metrics, in any spelling. So an
/// attacker who reads one of these, or a backup, cannot use what they find.
@Suite(.gatehouse(tokensReplicas: 2, settings: everythingIsLogged), .serialized)
struct KeptSecretTests {
    let system = GatehouseSystem.current

    @Test func nothingKeptCanBeTurnedIntoAUsableToken() async throws {
        try await KeptData.beginRecording(system)
        var run = EventfulRun(system)
        try run.takeSettings()
        try await run.rotations()
        try await run.accounts()
        try await run.forgottenPasswords()
        try await run.codes()
        try await run.changedIdentifiers()
        try await run.apple()
        try await run.standardDoors()
        try await run.mistakes()
        try await run.faults()
        #expect(run.secrets.secretCount > 100)

        let pieces = try await KeptData.collect(from: system)
        for piece in pieces {
            let findings = run.secrets.findings(in: piece.bytes)
            #expect(findings.isEmpty, "\(piece.place)")
        }

        // And the search reads what it says it reads.
        run.known.add("a race lock", "gatehouse:tokens:race".utf8)
        run.known.add("a refresh", "/v1/auth/refresh".utf8)
        run.known.add("a statement", "rotate_session".utf8)
        let known = Dictionary(grouping: pieces, by: \.place).mapValues { pieces in
            Set(pieces.flatMap { run.known.findings(in: $0.bytes) })
        }
        func isFound(_ name: String, _ places: String...) {
            for place in places { #expect(known[place]?.contains("\(name), plain") == true, "\(name) in \(place)") }
        }
        isFound("an e-mail address", "identity.identifiers.value", "tokens.users.profile", "tokens.users.email")
        isFound("a user", "identity.users.id", "tokens.revocation_log.user_id")
        isFound("a race lock", "redis")
        isFound("a refresh", "log of tokens", "log of tokens-2", "log of gateway", "metrics of tokens")
        isFound("a statement", "log of postgres")
        for service in system.services {
            #expect(pieces.contains { $0.place == "log of \(service.name)" && !$0.bytes.isEmpty }, "\(service.name)")
            #expect(pieces.contains { $0.place == "metrics of \(service.name)" && !$0.bytes.isEmpty })
        }
    }

    /// The search finds a secret however it is written and wherever it stands.
    @Test func theSearchFindsPlantedSecrets() async throws {
        try await KeptData.beginRecording(system)
        let secret = (0..<69).map { _ in UInt8.random(in: .min ... .max) }
        var search = SecretSearch()
        search.add("planted", secret)
        let base64 = Data(secret).base64EncodedString()
        let hex = secret.map { String(format: "%02x", $0) }.joined()
        let within = Data(Array("{\"token\":\"".utf8) + secret + [34, 125]).base64EncodedString()
        let base64URL = base64.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        let json = "\"" + base64.replacing("/", with: "\\/") + "\""
        for text in [base64, base64URL, hex, hex.uppercased(), within, json, "\(secret)"] {
            #expect(!search.findings(in: Array("x\(text)y".utf8)).isEmpty, "\(text)")
        }
        try await withRedisClient(RedisConfiguration.patient(system.redis.url)) { redis in
            try await redis.send("SET", "planted", RedisArgument(base64URL), "PX", 1)
        }
        try await system.withDatabase(of: "tokens") { database in
            try await database.query("CREATE TABLE planted (note text, raw bytea, document jsonb)")
            try await database.query("INSERT INTO planted VALUES (\(within), \(secret), \(json)::jsonb)")
        }
        let places = try await places(of: search)
        try await system.withDatabase(of: "tokens") { try await $0.query("DROP TABLE planted") }
        let planted = [
            "tokens.planted.note", "tokens.planted.raw", "tokens.planted.document", "log of postgres", "redis",
        ]
        #expect(places.isSuperset(of: planted))
    }

    private func places(of search: SecretSearch) async throws -> Set<String> {
        let pieces = try await KeptData.collect(from: system)
        return Set(pieces.filter { !search.findings(in: $0.bytes).isEmpty }.map(\.place))
    }
}
