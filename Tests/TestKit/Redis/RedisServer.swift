import Foundation

/// A test's own Redis server, on a free port, which the test may kill, stop and restart.
public actor RedisServer {
    /// The port stays the same over restarts.
    public nonisolated let port: Int
    public nonisolated let password: String?
    /// The authority that signed the server's certificate, if it uses TLS.
    public nonisolated let trustRootsFile: String?
    private nonisolated let folder: URL
    private let arguments: [String]
    private var process: TestProcess

    public nonisolated var url: String {
        let credentials = password.map { ":\($0)@" } ?? ""
        let options = trustRootsFile.map { "?sslrootcert=\($0)" } ?? ""
        return "\(trustRootsFile == nil ? "redis" : "rediss")://\(credentials)127.0.0.1:\(port)\(options)"
    }

    private init(
        port: Int, password: String?, trustRootsFile: String?, arguments: [String], folder: URL, process: TestProcess
    ) {
        self.arguments = arguments
        self.port = port
        self.password = password
        self.trustRootsFile = trustRootsFile
        self.folder = folder
        self.process = process
    }

    /// Starts a server without persistence, and returns when it accepts connections.
    ///
    /// - Parameter tls: uses a certificate for 127.0.0.1 from a test authority. The server then accepts no clear text.
    static func start(
        password: String? = nil, tls: Bool = false, arguments: [String] = []
    ) async throws -> RedisServer {
        let folder = FileManager.default.temporaryDirectory.appending(path: "gatehouse-redis-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let certificate = tls ? try await TestCertificate.make(in: folder) : nil
        for _ in 1...5 {
            let port = try freePort()
            let process = try launch(
                port: port, password: password, certificate: certificate, arguments: arguments, folder: folder)
            if try await accepts(process, log: Self.log(in: folder)) {
                return RedisServer(
                    port: port, password: password, trustRootsFile: certificate?.authority.path, arguments: arguments,
                    folder: folder, process: process)
            }
        }
        throw TestKitError("No Redis server could be started.")
    }

    private static func launch(
        port: Int, password: String?, certificate: TestCertificate?, arguments further: [String], folder: URL
    ) throws -> TestProcess {
        var arguments = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder.path]
        if let certificate {
            arguments += ["--port", "0", "--tls-port", "\(port)", "--tls-auth-clients", "no"]
            arguments += ["--tls-cert-file", certificate.certificate.path]
            arguments += ["--tls-key-file", certificate.key.path]
            arguments += ["--tls-ca-cert-file", certificate.authority.path]
        } else {
            arguments += ["--port", "\(port)"]
        }
        if let password { arguments += ["--requirepass", password] }
        arguments += further
        return try TestProcess("redis-server", arguments, output: log(in: folder))
    }

    /// Waits until the server answers. Returns `false` if it has ended, for example because its port was taken.
    /// Listening is not enough: a cluster node listens before it has opened its second port.
    private static func accepts(_ process: TestProcess, log: URL) async throws -> Bool {
        try await eventually("redis-server serves") {
            let text = (try? Data(contentsOf: log)) ?? Data()
            return !process.isRunning || text.firstRange(of: Data("Ready to accept connections".utf8)) != nil
        }
        return process.isRunning
    }

    private static func log(in folder: URL) -> URL { folder.appending(path: "redis.log") }

    /// Sends `SIGKILL`. All data is lost.
    public func kill() async {
        await process.kill9()
    }

    /// Sends `SIGSTOP`: connections stay, and the kernel accepts new ones, but the server does not answer.
    public func freeze() async {
        await process.suspend()
    }

    /// Sends `SIGCONT`.
    public func thaw() {
        process.signal(SIGCONT)
    }

    /// Restarts the server, empty, on the same port, after killing it if it runs.
    public func restart() async throws {
        await process.kill9()
        let certificate = trustRootsFile.map { _ in TestCertificate(in: folder) }
        process = try Self.launch(
            port: port, password: password, certificate: certificate, arguments: arguments, folder: folder)
        guard try await Self.accepts(process, log: Self.log(in: folder)) else {
            throw TestKitError("redis-server did not start again on port \(port).")
        }
    }

    fileprivate func remove() async {
        await process.kill9()
        try? FileManager.default.removeItem(at: folder)
    }
}

/// Runs `body` with its own Redis server, and removes it afterwards.
///
/// - Parameter arguments: further arguments of `redis-server`.
@discardableResult
public func withRedisServer<Value: Sendable>(
    password: String? = nil, tls: Bool = false, arguments: [String] = [],
    isolation: isolated (any Actor)? = #isolation,
    _ body: (RedisServer) async throws -> Value
) async throws -> Value {
    let server = try await RedisServer.start(password: password, tls: tls, arguments: arguments)
    return try await runFinally {
        try await body(server)
    } finally: {
        await server.remove()
    }
}
