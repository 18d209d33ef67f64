import Foundation
import Postgres
import Redis
import TestKit

/// All that a system keeps or tells of itself.
enum KeptData {
    struct Piece {
        /// As `tokens.sessions.device`, `redis`, `log of gateway`.
        var place: String
        var bytes: [UInt8]
    }

    /// Has PostgreSQL and Redis write down whatever they are told from now on, so that it can be found when it has long
    /// been deleted.
    static func beginRecording(_ system: GatehouseSystem) async throws {
        let postgres = try await PostgresConnection.patient(system.postgres.url())
        try await postgres.query("ALTER SYSTEM SET log_statement = 'all'")
        try await postgres.query("SELECT pg_reload_conf()")
        await postgres.close()
        try await withRedisClient(RedisConfiguration.patient(system.redis.url)) { redis in
            try await redis.send("CONFIG", "SET", "appendonly", "yes")
            try await eventually("Redis writes down its commands") {
                let state = try await redis.send("INFO", "persistence").string ?? ""
                return state.contains("aof_enabled:1") && state.contains("aof_rewrite_in_progress:0")
                    && state.contains("aof_rewrite_scheduled:0")
            }
        }
    }

    static func collect(from system: GatehouseSystem) async throws -> [Piece] {
        var pieces = [Piece(place: "log of postgres", bytes: Array(system.postgres.logText.utf8))]
        for service in GatehouseSystem.databaseServices {
            pieces += try await system.withDatabase(of: service) { try await columns(of: service, $0) }
        }
        pieces += try await redisCommands(system)
        for service in system.services {
            let metrics = try await TestHTTPClient(service.adminURL).get("/metrics")
            pieces.append(Piece(place: "metrics of \(service.name)", bytes: Array(metrics.body)))
            pieces.append(Piece(place: "log of \(service.name)", bytes: Array(service.logText.utf8)))
        }
        return pieces
    }

    /// Every column of every table as text, in which `bytea` is hex, and `bytea` as it is.
    private static func columns(of service: String, _ database: PostgresConnection) async throws -> [Piece] {
        let columns = try await database.query(
            """
            SELECT table_schema::text, table_name::text, column_name::text, data_type::text
            FROM information_schema.columns WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
            """
        ).decode((String, String, String, String).self)
        var pieces: [Piece] = []
        for (schema, table, column, type) in columns {
            let place = "\(service).\(table).\(column)"
            let from = "\"\(column)\" FROM \"\(schema)\".\"\(table)\" WHERE \"\(column)\" IS NOT NULL"
            let source = from.replacing("\"\(column)\" FROM", with: "\"\(column)\"::text FROM", maxReplacements: 1)
            let texts = try await database.query("SELECT \(unescaped: source)").decode(String.self)
            pieces.append(Piece(place: place, bytes: Array(texts.joined(separator: "\n").utf8)))
            guard type == "bytea" else { continue }
            let raw = try await database.query("SELECT \(unescaped: from)").decode([UInt8].self)
            pieces.append(Piece(place: place, bytes: Array(raw.joined(separator: [10]))))
        }
        return pieces
    }

    /// Every key and value that Redis was ever told to keep.
    private static func redisCommands(_ system: GatehouseSystem) async throws -> [Piece] {
        let folder = try await withRedisClient(RedisConfiguration.patient(system.redis.url)) { redis in
            try await redis.send("CONFIG", "GET", "dir").array?.last?.string ?? ""
        }
        let files = URL(filePath: folder).appending(path: "appendonlydir")
        return try FileManager.default.contentsOfDirectory(at: files, includingPropertiesForKeys: nil).map { file in
            Piece(place: "redis", bytes: Array(try Data(contentsOf: file)))
        }
    }
}
