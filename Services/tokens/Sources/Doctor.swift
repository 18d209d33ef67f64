import Foundation
import Postgres
import Redis
public import ServiceKit
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
                    remedy: "Replace them: Services/tokens/README.md, \"Replacing the refresh key\"."))
        }
        return findings
    }

    private static func restoration(_ connection: PostgresConnection) async throws(PostgresError) -> [Finding] {
        do throws(PostgresError) {
            guard try await DatabaseOrigin.isRestored(connection) else { return [] }
        } catch {
            // There is no such table: it comes with a migration, of which the findings tell already.
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
