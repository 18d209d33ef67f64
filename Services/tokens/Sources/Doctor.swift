import Foundation
public import GatehouseServiceKit
import Postgres
import Redis
import ServiceKitPostgres

extension TokensApplication: ExaminedApplication {
    public static func examine(
        _ configuration: TokensConfiguration, _ examination: Examination
    ) async -> [Finding] {
        var findings = await examination.database(
            of: name, configuration.database, migrations: migrations
        ) { try await restoration($0) }
        let redis = configuration.redis
        findings += await examination.redis(
            tls: redis.tls.map { _ in TLSServer("Redis", host: redis.host, port: redis.port) }
        ) {
            try await RedisClient.info(
                of: redis, on: examination.eventLoopGroup, logger: examination.logger)
        }
        let keys = (try? configuration.signingKeyFile?.read()) ?? configuration.signingKeys
        findings += keys.findings(at: .now, accessTokenLifetime: configuration.lifetimes.access)
        if let path = (try? KeySettings())?.refreshKeysFile {
            findings.append(
                examination.age(
                    of: "The refresh keys", in: path,
                    remedy: "Replace them: docs/reference/tokens.md, \"Refresh keys\"."))
        }
        return findings
    }

    private static func restoration(_ connection: PostgresConnection) async throws(PostgresError) -> [Finding] {
        do throws(PostgresError) {
            guard try await DatabaseOriginStore.isRestored(connection) else { return [] }
        } catch {
            // The table does not exist yet. Other findings already report the missing migration.
            guard error.sqlState == "42P01" else { throw error }
            return []
        }
        return [
            .problem(
                "The database was made of a dump, and what happened after the dump is missing: tokens does not use it.",
                remedy: "Run `tokens after-restore` (docs/operations/backup.md).")
        ]
    }
}

extension SigningKeys {
    /// Reports the age of the signing key, and each step of a key replacement that is overdue.
    ///
    /// - Parameter accessTokenLifetime: seconds.
    func findings(at now: Date, accessTokenLifetime: TimeInterval) -> [Finding] {
        var findings: [Finding] = []
        for entry in entries {
            switch entry.state {
            case .active:
                guard let since = entry.since else {
                    findings.append(.fine("One key has signed from the beginning: \(entry.keyID)."))
                    continue
                }
                findings.append(
                    KeyAge.finding(
                        "The key that signs (\(entry.keyID))", age: now.timeIntervalSince(since), verb: "began to",
                        remedy: "Replace it: `tokens keys generate`, ten minutes later `rotate`, then `retire`."))
            case .next:
                let age = entry.since.map { now.timeIntervalSince($0) } ?? 0
                guard age > Self.overdue else {
                    findings.append(.fine("A next key is published (\(entry.keyID))."))
                    continue
                }
                findings.append(
                    .warning(
                        "A next key has been published for \(KeyAge.days(age)) and does not sign: \(entry.keyID).",
                        remedy: "Let it sign: `tokens keys rotate`."))
            case .retiring:
                let lifetime = max(accessTokenLifetime, TimeInterval(entry.lifetime ?? 0))
                let age = entry.since.map { now.timeIntervalSince($0) } ?? .infinity
                guard age > lifetime + Self.overdue else {
                    findings.append(.fine("An old key is still published, for its last tokens (\(entry.keyID))."))
                    continue
                }
                findings.append(
                    .warning(
                        "An old key is published although its last token has expired: \(entry.keyID).",
                        remedy: "Remove it: `tokens keys retire`."))
            }
        }
        return findings
    }

    /// Seconds after which a step of a key replacement is overdue.
    private static let overdue: TimeInterval = 86_400
}
