import Foundation
import TestKit

/// The built gateway as a process, with a routes file and none of Gatehouse's other services.
struct GatewayProcess: Sendable {
    let port: Int
    let admin: TestHTTPClient
    private let process: TestProcess
    private let folder: URL

    /// Runs `body` with a gateway that listens, and ends it afterwards.
    static func run(
        routes: String, settings: [String: String] = [:], _ body: (GatewayProcess) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (port, adminPort) = (try freePort(), try freePort())
        let routesFile = folder.appending(path: "routes.yaml")
        try routes.write(to: routesFile, atomically: true, encoding: .utf8)
        var environment = [
            "GATEHOUSE_ENVIRONMENT": "development", "GATEHOUSE_RATE_LIMITS": "off",
            "GATEWAY_LISTEN_ADDRESS": "127.0.0.1:\(port)", "GATEWAY_ADMIN_LISTEN_ADDRESS": "127.0.0.1:\(adminPort)",
            "GATEWAY_ROUTES_FILE": routesFile.path, "GATEWAY_UPSTREAM_IDLE_TIMEOUT": "1",
        ]
        for service in ["TOKENS", "IDENTITY", "DEVICES"] {
            // No service listens there.
            environment["GATEWAY_\(service)_URL"] = "http://127.0.0.1:1"
            environment["GATEWAY_\(service)_CREDENTIAL"] = "dev-\(service)"
        }
        environment.merge(settings) { $1 }
        let process = try TestProcess(
            BuiltPrograms.path(of: "gateway"), ["serve"], environment: environment,
            output: folder.appending(path: "log"))
        let gateway = GatewayProcess(
            port: port, admin: TestHTTPClient(URL(string: "http://127.0.0.1:\(adminPort)")!), process: process,
            folder: folder)
        do {
            try await eventually("it listens and has read its routes") {
                isListening(onPort: port) && gateway.reloads == 1
            }
            try await body(gateway)
        } catch {
            await process.kill9()
            throw error
        }
        process.signal(SIGTERM)
        await process.waitForExit()
    }

    /// Runs `body` with a gateway whose one route, `/x`, leads to `port` of this machine and waits for it as long as
    /// a test may take on a busy machine.
    static func run(
        leadingTo port: Int, bodyLimit: Int = 1 << 20, settings: [String: String] = [:],
        _ body: (GatewayProcess) async throws -> Void
    ) async throws {
        let routes = """
            routes:
              - name: x
                path: /x
                upstreams: [http://127.0.0.1:\(port)]
                authentication: none
                bodyLimit: \(bodyLimit)
                timeout: 600
            """
        try await run(routes: routes, settings: settings, body)
    }

    func write(routes: String) throws {
        try routes.write(to: folder.appending(path: "routes.yaml"), atomically: true, encoding: .utf8)
    }

    func signal(_ number: Int32) { process.signal(number) }

    var log: String { (try? String(contentsOf: folder.appending(path: "log"), encoding: .utf8)) ?? "" }

    /// How often routes came into force.
    var reloads: Int { log.components(separatedBy: "routes in force").count - 1 }

    /// Files, sockets and all else that it has open.
    func descriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.processID)/fd").count
    }

    /// Bytes of memory that are its own and hold what it has written.
    func privateMemory() throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(process.processID)/smaps_rollup", encoding: .utf8)
        return text.split(separator: "\n").filter { $0.hasPrefix("Private_Dirty:") }
            .compactMap { Int($0.split(separator: " ")[1]) }.reduce(0, +) * 1024
    }

    /// Time that its threads have run, in nanoseconds.
    func cpuTime() throws -> Int {
        let tasks = "/proc/\(process.processID)/task"
        return try FileManager.default.contentsOfDirectory(atPath: tasks).reduce(0) { sum, task in
            let text = try String(contentsOfFile: "\(tasks)/\(task)/schedstat", encoding: .utf8)
            return sum + (text.split(separator: " ").first.flatMap { Int($0) } ?? 0)
        }
    }

    func metrics() async throws -> String { try await admin.get("/metrics").text }

    func send(_ line: String) async throws -> RawClient.Answer {
        let client = try await RawClient.connect(port: port)
        try await client.send(GatewayHarness.request(line))
        let answer = try await client.answer()
        await client.close()
        return answer
    }
}
