import Foundation
import Postgres

/// A test's own PostgreSQL server, on a free port, which the test may kill, stop and restart.
public actor PostgresServer {
    /// The password of the superuser `postgres`.
    public static let password = "correct horse"

    /// The port stays the same over restarts.
    public nonisolated let port: Int
    /// The authority that signed the server's certificate, if it uses TLS.
    public nonisolated let trustRootsFile: String?
    nonisolated let folder: URL
    private nonisolated let settings: [String]
    private var process: TestProcess

    /// The server's log since its last start.
    public nonisolated var logText: String {
        (try? String(decoding: Data(contentsOf: folder.appending(path: "postgres.log")), as: UTF8.self)) ?? ""
    }

    /// The server's URL with `options`, such as `sslmode=verify-full`.
    public nonisolated func url(_ options: String = "", password: String = password) -> String {
        var url = URLComponents()
        (url.scheme, url.host, url.port, url.path) = ("postgres", "127.0.0.1", port, "/postgres")
        (url.user, url.password, url.query) = ("postgres", password, options.isEmpty ? nil : options)
        return url.string ?? ""
    }

    private init(port: Int, trustRootsFile: String?, folder: URL, settings: [String], process: TestProcess) {
        self.port = port
        self.trustRootsFile = trustRootsFile
        self.folder = folder
        self.settings = settings
        self.process = process
    }

    /// Creates a server and returns when it answers.
    fileprivate static func start(tls: Bool, settings: [String]) async throws -> PostgresServer {
        let folder = try newFolder()
        try Data(password.utf8).write(to: folder.appending(path: "password"))
        let certificate = tls ? try await TestCertificate.make(in: folder) : nil
        try await own(folder)
        let data = folder.appending(path: "data").path
        try await PostgresProgram.complete(
            "initdb",
            [
                "--pgdata", data, "--username", "postgres", "--pwfile", folder.appending(path: "password").path,
                "--auth", "scram-sha-256", "--encoding", "UTF8", "--no-locale", "--no-sync", "--no-instructions",
            ], output: folder.appending(path: "initdb.log"))
        return try await start(folder, certificate: certificate, settings: settings)
    }

    /// Starts a server on the data in `folder`, on a free port, and returns when it answers.
    static func start(
        _ folder: URL, certificate: TestCertificate? = nil, settings: [String] = []
    ) async throws -> PostgresServer {
        for _ in 1...5 {
            let port = try freePort()
            let process = try launch(port: port, certificate: certificate, folder: folder, settings: settings)
            let server = PostgresServer(
                port: port, trustRootsFile: certificate?.authority.path, folder: folder, settings: settings,
                process: process)
            if try await server.answers() { return server }
        }
        throw TestKitError("No PostgreSQL server could be started.")
    }

    static func newFolder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: "gatehouse-postgres-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    private static func launch(
        port: Int, certificate: TestCertificate?, folder: URL, settings own: [String]
    ) throws -> TestProcess {
        var settings = [
            "listen_addresses=127.0.0.1", "port=\(port)", "unix_socket_directories=", "fsync=off",
            "shared_buffers=16MB", "max_connections=200", "autovacuum=off", "dynamic_shared_memory_type=mmap",
            // These let a former primary become a standby of the server that replaced it.
            "wal_log_hints=on", "wal_keep_size=256MB",
        ]
        if let certificate {
            settings += [
                "ssl=on", "ssl_cert_file=\(certificate.certificate.path)", "ssl_key_file=\(certificate.key.path)",
            ]
        }
        return try PostgresProgram.run(
            "postgres", ["-D", folder.appending(path: "data").path] + (settings + own).flatMap { ["-c", $0] },
            output: folder.appending(path: "postgres.log"))
    }

    /// PostgreSQL refuses to run as root: `initdb` and the server run as `postgres`, which owns the files.
    static func own(_ folder: URL) async throws {
        guard PostgresProgram.changesUser else { return }
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).map { folder.path + "/" + $0 }
        for path in [folder.path] + files {
            try FileManager.default.setAttributes([.ownerAccountName: "postgres"], ofItemAtPath: path)
        }
    }

    /// Waits until the server answers. Returns false if it has ended, for example because its port was taken.
    private func answers() async throws -> Bool {
        let configuration = try PostgresConfiguration(url: url())
        let process = process
        try await eventually("PostgreSQL answers") {
            if !process.isRunning { return true }
            guard let connection = try? await PostgresConnection.connect(configuration) else { return false }
            await connection.close()
            return true
        }
        return process.isRunning
    }

    /// Sends `SIGKILL` to all its processes, like a power failure.
    public func kill() async {
        // Suspend it first: processes that it starts later would not be among its children, and would survive.
        await process.suspend()
        let children = children
        process.signal(SIGKILL)
        for child in children { Foundation.kill(child, SIGKILL) }
        await process.waitForExit()
    }

    /// Sends `SIGSTOP` to all its processes: connections stay, and the kernel accepts new ones, but the server does not
    /// answer.
    public func freeze() async {
        await process.suspend()
        for child in children { Foundation.kill(child, SIGSTOP) }
    }

    /// Sends `SIGCONT`.
    public func thaw() {
        for child in children { Foundation.kill(child, SIGCONT) }
        process.signal(SIGCONT)
    }

    /// Restarts the server on the same port and data, after killing it if it runs.
    public func restart() async throws {
        if process.isRunning { await kill() }
        let certificate = trustRootsFile.map { _ in TestCertificate(in: folder) }
        // A process of the previous server may still hold its shared memory, and PostgreSQL refuses to start until it
        // ends.
        try await eventually("PostgreSQL starts again on port \(port)", every: .milliseconds(100)) {
            process = try Self.launch(port: port, certificate: certificate, folder: folder, settings: settings)
            return try await answers()
        }
    }

    /// A fast shutdown: sessions end, committed data is on disk, and standbys receive all of it first.
    public func stop() async {
        process.signal(SIGINT)
        await process.waitForExit()
    }

    func remove() async {
        thaw()
        // A killed server leaves a shared memory segment behind.
        await stop()
        try? FileManager.default.removeItem(at: folder)
    }

    private var children: [Int32] {
        let id = process.processID
        let list = try? String(contentsOfFile: "/proc/\(id)/task/\(id)/children", encoding: .utf8)
        return list?.split(whereSeparator: \.isWhitespace).compactMap { Int32($0) } ?? []
    }
}

/// Runs `body` with its own PostgreSQL server, and removes it afterwards.
///
/// - Parameter settings: further settings, such as `work_mem=1MB`, also after a restart.
public func withPostgresServer<Value: Sendable>(
    tls: Bool = false, settings: [String] = [], isolation: isolated (any Actor)? = #isolation,
    _ body: (PostgresServer) async throws -> Value
) async throws -> Value {
    let server = try await PostgresServer.start(tls: tls, settings: settings)
    return try await runFinally {
        try await body(server)
    } finally: {
        await server.remove()
    }
}
