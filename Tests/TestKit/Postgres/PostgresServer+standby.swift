import Foundation
import Postgres

/// Runs `body` with a streaming standby of `primary`, and removes it afterwards.
///
/// The standby can be read, promoted, frozen and killed like any server. Replication is asynchronous unless the
/// primary's `synchronous_standby_names` contains `name` (``PostgresServer/alter(_:)``).
///
/// - Parameter name: the standby's name at the primary.
public func withPostgresStandby<Value: Sendable>(
    of primary: PostgresServer, name: String = "standby", isolation: isolated (any Actor)? = #isolation,
    _ body: (PostgresServer) async throws -> Value
) async throws -> Value {
    let standby = try await PostgresServer.startStandby(of: primary, name: name)
    return try await runFinally {
        try await body(standby)
    } finally: {
        await standby.remove()
    }
}

extension PostgresServer {
    fileprivate static func startStandby(of primary: PostgresServer, name: String) async throws -> PostgresServer {
        let folder = try newFolder()
        try await own(folder)
        do {
            try await PostgresProgram.complete(
                "pg_basebackup",
                [
                    "--pgdata", folder.appending(path: "data").path, "--dbname", primary.replicationURL(name),
                    "--checkpoint", "fast", "--wal-method", "stream", "--write-recovery-conf", "--no-sync",
                ], output: folder.appending(path: "pg_basebackup.log"))
            return try await start(folder)
        } catch {
            try? FileManager.default.removeItem(at: folder)
            throw error
        }
    }

    /// Promotes the standby to a primary on its own timeline, and returns when it accepts writes.
    public func promote() async throws {
        try await withConnection { connection in
            let promoted = try await connection.query("SELECT pg_promote(true, 60)", deadline: .now + .seconds(60))
            guard try promoted[0].decode(Bool.self) else { throw TestKitError("PostgreSQL was not promoted in time.") }
        }
    }

    /// Makes this server a standby of `primary`, whatever it was before. Its sessions end, and its writes after the
    /// other's promotion are undone. Its port stays the same.
    public func follow(_ primary: PostgresServer, name: String = "standby") async throws {
        await stop()
        // pg_rewind reads from the disk whether the other server has its own timeline.
        try await primary.withConnection { try await $0.execute(script: "CHECKPOINT", deadline: .now + .seconds(60)) }
        let data = folder.appending(path: "data")
        try await PostgresProgram.complete(
            "pg_rewind",
            ["--target-pgdata", data.path, "--source-server", primary.replicationURL(name), "--no-sync"],
            output: folder.appending(path: "pg_rewind.log"))
        let settings = try FileHandle(forWritingTo: data.appending(path: "postgresql.auto.conf"))
        try settings.seekToEnd()
        try settings.write(contentsOf: Data("\nprimary_conninfo = '\(primary.replicationURL(name))'\n".utf8))
        try settings.close()
        // Only the file's name matters, not its owner or content.
        try Data().write(to: data.appending(path: "standby.signal"))
        try await restart()
    }

    /// Waits until the standby has replayed all that `primary` has written so far.
    public func catchUp(with primary: PostgresServer) async throws {
        let written = try await primary.withConnection { connection in
            try await connection.query("SELECT pg_current_wal_flush_lsn()::text")[0].decode(String.self)
        }
        try await withConnection { connection in
            try await eventually("the standby has replayed \(written)") {
                try await connection.query("SELECT pg_last_wal_replay_lsn() >= \(written)::pg_lsn")[0]
                    .decode(Bool.self)
            }
        }
    }

    /// Changes a setting for the lifetime of the server: `alter("synchronous_standby_names = 'standby'")`.
    public func alter(_ setting: String) async throws {
        try await withConnection { connection in
            let before = try await connection.query("SELECT pg_conf_load_time()::text")[0].decode(String.self)
            try await connection.execute(script: "ALTER SYSTEM SET \(setting)")
            try await connection.execute(script: "SELECT pg_reload_conf()")
            try await eventually("PostgreSQL has read its settings") {
                try await connection.query("SELECT pg_conf_load_time() > \(before)::timestamptz")[0].decode(Bool.self)
            }
            // The checkpointer, at its next run, sets whether commits wait for standbys.
            try await connection.execute(script: "CHECKPOINT")
        }
    }

    /// Runs `body` with a new connection.
    func withConnection<Value: Sendable>(_ body: (PostgresConnection) async throws -> Value) async throws -> Value {
        let connection = try await PostgresConnection.patient(url())
        return try await runFinally {
            try await body(connection)
        } finally: {
            await connection.close()
        }
    }

    /// The URL that a standby connects to.
    private nonisolated func replicationURL(_ name: String) -> String {
        url("application_name=\(name)")
    }
}
