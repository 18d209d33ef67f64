import Foundation
import GatehouseObservability
import GatehouseServiceContracts
import GatehouseServiceKit
import GatehouseSettings
import Hummingbird
import HummingbirdCore
import ServiceLifecycle
import Synchronization
import TestKit
import Testing

/// What the applications of these tests share with the tests.
private final class Switchboard: Sendable {
    static let shared = Mutex<[String: Switchboard]>([:])
    let isHealthy = Mutex(true)
    let begun = Mutex(false)
    let ended = Mutex<[String]>([])
}

private struct SwitchedApplication: ServiceApplication {
    static let name = "switched"
    static let defaultPort = 8098

    static func configuration(from settings: Settings) -> Switchboard {
        let key = settings.string("board", default: "none")
        return Switchboard.shared.withLock { boards in
            let board = boards[key] ?? Switchboard()
            boards[key] = board
            return board
        }
    }

    static func build(_ board: Switchboard, boot: ServiceBoot) async throws -> ServiceAssembly {
        let router = ServiceRouter()
        router.get("/v1/slow") { _, _ -> Response in
            board.begun.withLock { $0 = true }
            try await Task.sleep(for: .milliseconds(500))
            board.ended.withLock { $0.append("request") }
            return .empty(.ok)
        }
        return ServiceAssembly(
            services: [Part(name: "first", board: board), Part(name: "second", board: board)],
            readiness: [ReadinessCheck("switch") { board.isHealthy.withLock { $0 } }],
            router: router, boot: boot)
    }

    private struct Part: Service {
        let name: String
        let board: Switchboard

        func run() async throws {
            try await gracefulShutdown()
            board.ended.withLock { $0.append(name) }
        }
    }
}

private struct FailingApplication: ServiceApplication {
    static let name = "failing"
    static let defaultPort = 8097
    static func configuration(from settings: Settings) -> Bool { settings.bool("atBuild", default: false) }
    static func build(_ atBuild: Bool, boot: ServiceBoot) async throws -> ServiceAssembly {
        if atBuild { throw UnforeseenError() }
        return ServiceAssembly(services: [Failing()], router: ServiceRouter(), boot: boot)
    }

    private struct Failing: Service {
        func run() async throws { throw UnforeseenError() }
    }
}

/// Opens its public port when it is told to.
private struct LateApplication: ServiceApplication {
    static let name = "late"
    static let defaultPort = 8096
    static let opening = AsyncStream<Int>.makeStream()

    static func configuration(from settings: Settings) {}
    static func build(_: Void, boot: ServiceBoot) async throws -> ServiceAssembly {
        ServiceAssembly(services: [LateServer(listening: boot.listening)], boot: boot)
    }

    private struct LateServer: Service {
        let listening: ListeningPort

        func run() async throws {
            for await port in opening.stream { listening.open(port) }
            try await gracefulShutdown()
        }
    }
}

@Suite struct LifecycleTests {
    private func withSwitched(
        _ body: @Sendable (RunningService, Switchboard) async throws -> Void
    ) async throws -> Switchboard {
        let key = UUID().uuidString
        let board = Switchboard()
        Switchboard.shared.withLock { $0[key] = board }
        try await withService(SwitchedApplication.self, settings: ["SWITCHED_BOARD": key]) { service in
            try await body(service, board)
        }
        return board
    }

    @Test func tellsHealthOnBothPorts() async throws {
        _ = try await withSwitched { service, board in
            for url in [service.url, service.adminURL] {
                let client = TestHTTPClient(url)
                #expect(try await client.get("/livez").text == #"{"status":"ok"}"#)
                try await eventually("ready") { try await client.get("/readyz").status == 200 }
            }
            board.isHealthy.withLock { $0 = false }
            for url in [service.url, service.adminURL] {
                let client = TestHTTPClient(url)
                try await eventually("not ready") { try await client.get("/readyz").status == 503 }
                let problem = try await client.get("/readyz").problem()
                #expect(problem.code == "UNAVAILABLE")
                #expect(problem.errors?.map(\.field) == ["switch"])
                #expect(try await client.get("/livez").status == 200)
            }
            board.isHealthy.withLock { $0 = true }
            try await eventually("ready again") { try await TestHTTPClient(service.url).get("/readyz").status == 200 }
        }
    }

    @Test func isNotReadyBeforeItsPublicPortIsOpen() async throws {
        let configuration = try ServiceConfiguration<LateApplication>.load(environment: [
            "GATEHOUSE_ENVIRONMENT": "development", "LATE_ADMIN_LISTEN_ADDRESS": "127.0.0.1:0",
        ])
        let process = ServiceProcess(configuration, logger: .quiet)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await process.run() }
            let admin = TestHTTPClient(
                try #require(URL(string: "http://127.0.0.1:\(await process.adminListening.port())")))
            try await eventually("its checks have run") {
                let answer = try await admin.get("/readyz")
                try #require(answer.status == 503)
                return try answer.problem().errors?.map(\.field) == ["listener"]
            }
            LateApplication.opening.continuation.yield(1)
            LateApplication.opening.continuation.finish()
            try await eventually("ready") { try await admin.get("/readyz").status == 200 }
            process.stop()
            try await group.waitForAll()
        }
    }

    @Test func countsRequestsByRoute() async throws {
        try await withService(EchoApplication.self, settings: echoSettings) { service in
            let client = TestHTTPClient(service.url)
            let id = UUID()
            _ = try await client.get("/v1/echo/\(id)")
            _ = try await client.get("/api/v1/echo/\(id)")
            _ = try await client.get("/v1/echo/none")
            _ = try await client.get("/no/such/path/\(id)")
            let metrics = try await TestHTTPClient(service.adminURL).get("/metrics")
            #expect(metrics.header("Content-Type")?.hasPrefix("text/plain; version=0.0.4") == true)
            #expect(
                metrics.text.contains(#"http_server_requests_total{method="GET",route="/v1/echo/{id}",status="200"}"#))
            #expect(
                metrics.text.contains(#"http_server_requests_total{method="GET",route="/v1/echo/{id}",status="404"}"#))
            #expect(
                metrics.text.contains(
                    #"http_server_request_duration_seconds_bucket{method="GET",route="/v1/echo/{id}",le="0.5"}"#))
            #expect(metrics.text.contains("process_cpu_seconds_total"))
            #expect(!metrics.text.contains(id.uuidString))
        }
    }

    @Test func itsAdminPortAnswersWhatIsTheServicesOwn() async throws {
        try await withService(EchoApplication.self, settings: echoSettings) { service in
            let admin = TestHTTPClient(service.adminURL)
            let page = try await admin.get("/page")
            #expect(page.text == "<p>" && page.header("Content-Type") == "text/html")
            #expect(page.header("Content-Security-Policy") == "default-src 'none'; frame-ancestors 'none'")
            #expect(page.header("Cache-Control") == "no-store")
            #expect(page.header("X-Content-Type-Options") == "nosniff")
            let head = try await admin.send("HEAD", "/page")
            #expect(head.status == 200 && head.body.isEmpty && head.header("Content-Length") == "3")
            #expect(try await admin.send("POST", "/page").header("Allow") == "GET, HEAD")
            #expect(try await TestHTTPClient(service.url).get("/page").status == 404)
            let ready = try await eventuallyReady(admin)
            #expect(ready.version == GatehouseVersion.number && ready.startedAt.map { $0 <= .now } == true)
        }
    }

    private func eventuallyReady(_ client: TestHTTPClient) async throws -> ServiceHealth {
        try await eventually("ready") { try await client.get("/readyz").status == 200 }
        return try await client.get("/readyz").decode()
    }

    @Test func endsRequestsInFlightBeforeItsParts() async throws {
        let board = try await withSwitched { service, board in
            let client = TestHTTPClient(service.url)
            try await eventually("ready") { try await client.get("/readyz").status == 200 }
            let slow = Task { try await client.get("/v1/slow") }
            try await eventually("the request is on its way") { board.begun.withLock { $0 } }
            service.stop()
            let response = try await slow.value
            #expect(response.status == 200)
        }
        #expect(board.ended.withLock { $0 } == ["request", "second", "first"])
    }

    @Test func tellsWhyItCannotRun() async throws {
        for atBuild in ["true", "false"] {
            await #expect(throws: UnforeseenError.self) {
                try await withService(FailingApplication.self, settings: ["FAILING_AT_BUILD": atBuild]) { service in
                    // A part that fails ends the service.
                    try await eventually("the service has ended") {
                        do {
                            _ = try await TestHTTPClient(service.url, timeout: .seconds(1)).get("/livez")
                            return false
                        } catch {
                            throw UnforeseenError()
                        }
                    }
                }
            }
        }
    }

    @Test func refusesToShareItsPort() async throws {
        try await withService(EchoApplication.self, settings: echoSettings) { service in
            var settings = echoSettings
            settings["ECHO_LISTEN_ADDRESS"] = "127.0.0.1:\(service.url.port ?? 0)"
            await #expect(throws: (any Error).self) {
                try await withService(EchoApplication.self, settings: settings) { _ in }
            }
        }
    }

    @Test func refusesWrongSettings() async throws {
        await #expect(throws: SettingsError.self) {
            try await withService(EchoApplication.self, settings: ["ECHO_UNKNOWN": "1"]) { _ in }
        }
    }
}
