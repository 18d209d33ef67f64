import Foundation
import NIOCore
import NIOPosix

/// Starts the proxies that are compared, each with the configuration that the comparison fixes for it.
struct ProxyYard {
    let system: RunningSystem
    /// Holds `gateway`.
    let binaries: URL
    /// Holds the peers' configurations.
    let peers: URL
    /// Envoy's program; it need not be there.
    let envoy: String
    let core: Int
    let upstreamPort: Int
    /// Where configurations and logs go.
    let folder: URL
    /// Good for as long as the benchmark runs.
    let bearer: String

    /// Verified tokens that each proxy with a cache may remember.
    static let cacheCapacity = 1_000

    var hasEnvoy: Bool { FileManager.default.isExecutableFile(atPath: envoy) }

    // MARK: Gatehouse

    /// A gateway with all its features on and its rate limit too high to be reached: all load is of one address.
    ///
    /// - Parameter routes: how many the file names beside the one under measurement.
    func gatehouse(name: String = "Gatehouse", routes: Int = 0) async throws -> Gatehouse {
        let port = try await FreePort.find()
        let adminPort = try await FreePort.find()
        let file = try write("routes-\(port).yaml", routesFile(extra: routes))
        var environment = try Self.environment(folder.appendingPathComponent("gateway.environment"))
        environment["GATEWAY_LISTEN_ADDRESS"] = "127.0.0.1:\(port)"
        environment["GATEWAY_ADMIN_LISTEN_ADDRESS"] = "127.0.0.1:\(adminPort)"
        environment["GATEWAY_ROUTES_FILE"] = file.path
        environment["GATEWAY_TOKEN_CACHE_CAPACITY"] = "\(Self.cacheCapacity)"
        for limit in ["ADDRESS", "CONNECTION", "USER"] {
            environment["GATEWAY_\(limit)_LIMIT_BURST"] = "10000000"
            environment["GATEWAY_\(limit)_LIMIT_PER_SECOND"] = "10000000"
        }
        let proxy = try await start(
            name, port: port, [binaries.appendingPathComponent("gateway").path, "serve"], environment: environment)
        return Gatehouse(proxy: proxy, adminPort: adminPort)
    }

    struct Gatehouse: Sendable {
        let proxy: Proxy
        let adminPort: Int
    }

    private func routesFile(extra: Int) -> String {
        func route(_ name: String, _ path: String) -> String {
            "  - name: \(name)\n    path: \(path)\n    upstreams: [http://127.0.0.1:\(upstreamPort)]\n"
        }
        return "routes:\n" + route("bench", "/bench")
            + (0..<extra).map { route("service-\($0)", "/v2/service-\($0)/items") }.joined()
    }

    private static func environment(_ file: URL) throws -> [String: String] {
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        return Dictionary(
            lines.compactMap { line in
                line.firstIndex(of: "=").map { (String(line[..<$0]), String(line[line.index(after: $0)...])) }
            }, uniquingKeysWith: { $1 })
    }

    // MARK: Its peers

    func envoy(cached: Bool, jwks: String) async throws -> Proxy {
        let port = try await FreePort.find()
        let file = try fill(
            "envoy.yaml", for: port,
            ["JWKS": jwks, "CACHE": cached ? "jwt_cache_config: {jwt_cache_size: \(Self.cacheCapacity)}" : ""])
        return try await start(
            cached ? "Envoy, with token cache" : "Envoy, without cache", port: port,
            [envoy, "--concurrency", "1", "-l", "error", "--disable-hot-restart", "-c", file.path])
    }

    func haproxy(checked: Bool) async throws -> Proxy {
        let port = try await FreePort.find()
        let file = try fill(
            checked ? "haproxy.cfg" : "haproxy-unchecked.cfg", for: port,
            ["KEY": folder.appendingPathComponent("keys/access-token-public.pem").path])
        return try await start(
            checked ? "HAProxy, with check" : "HAProxy, without check", port: port,
            ["haproxy", "-db", "-f", file.path])
    }

    // MARK: Parts

    private func start(
        _ name: String, port: Int, _ command: [String], environment: [String: String] = [:]
    ) async throws -> Proxy {
        try await Proxy.start(
            name, port: port, core: core, command: command, environment: environment,
            log: folder.appendingPathComponent("logs/proxy-\(port).log"), bearer: bearer)
    }

    /// A copy of a peer's configuration with everything filled in.
    private func fill(_ template: String, for port: Int, _ values: [String: String]) throws -> URL {
        var text = try String(contentsOf: peers.appendingPathComponent(template), encoding: .utf8)
        let all = values.merging(["PORT": "\(port)", "UPSTREAM": "\(upstreamPort)"]) { $1 }
        for (name, value) in all { text = text.replacingOccurrences(of: "@\(name)@", with: value) }
        return try write("\(port)-\(template)", text)
    }

    private func write(_ name: String, _ text: String) throws -> URL {
        let file = folder.appendingPathComponent(name)
        try text.write(to: file, atomically: true, encoding: .utf8)
        return file
    }
}

/// A port on which no server listens.
enum FreePort {
    static func find() async throws -> Int {
        let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = channel.localAddress?.port
        try await channel.close()
        guard let port else { throw BenchmarkError("the system gave out no port") }
        return port
    }
}
