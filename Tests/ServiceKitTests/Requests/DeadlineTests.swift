import Foundation
import GatehouseLimits
import GatehouseServiceContracts
import GatehouseServiceKit
import GatehouseSettings
import Hummingbird
import HummingbirdCore
import Synchronization
import TestKit
import Testing

@Suite("Deadlines that end work")
struct DeadlineTests {
    private struct Trouble: Error {}

    @Test("Work that is through in time gives its value, or its error")
    func inTime() async throws {
        #expect(try await Deadline.after(.seconds(60)).run { 7 } == 7)
        await #expect(throws: Trouble.self) { try await Deadline.after(.seconds(60)).run { throw Trouble() } }
    }

    @Test("Work that is not is cancelled")
    func late() async throws {
        let isCancelled = Mutex(false)
        await #expect(throws: Problem(.timeout)) {
            try await Deadline.after(.milliseconds(20)).run {
                do {
                    try await Task.sleep(for: .seconds(600))
                } catch {
                    isCancelled.withLock { $0 = error is CancellationError }
                    throw error
                }
            }
        }
        #expect(isCancelled.withLock { $0 })
    }

    /// A route that never answers by itself.
    private enum Sleeper: ServiceApplication {
        static let name = "sleeper"
        static let defaultPort = 8099

        static func configuration(from settings: Settings) -> Bool { true }

        static func build(_ endsAtDeadline: Bool, boot: ServiceBoot) async throws -> ServiceAssembly {
            let router = ServiceRouter()
            router.get("/v1/sleep") { _, _ in
                try await Task.sleep(for: .seconds(600))
                return Response.empty(.ok)
            }
            return ServiceAssembly(router: router, endsAtDeadline: endsAtDeadline, boot: boot)
        }
    }

    @Test("A route's work ends with its caller's deadline, where the service asks for that")
    func route() async throws {
        try await withService(Sleeper.self) { service in
            let answer = try await TestHTTPClient(service.url, timeout: .seconds(60)).get(
                "/v1/sleep", headers: [HeaderName.deadline: "15000"])
            // A deadline that passes before the request is handled would be a 503.
            #expect(answer.status == 504 && answer.code == "TIMEOUT")
        }
    }

    @Test("A request that is refused because its deadline has passed is logged with the reason")
    func passed() async throws {
        let log = CapturedLog()
        try await withService(Sleeper.self, logger: log.logger) { service in
            let answer = try await TestHTTPClient(service.url, timeout: .seconds(60)).get(
                "/v1/sleep", headers: [HeaderName.deadline: "0"])
            #expect(answer.status == 503 && answer.code == "UNAVAILABLE")
        }
        let line = try #require(log.lines.first { $0.contains("deadline had passed") })
        #expect(line.hasPrefix("warning unavailable") && line.contains("/v1/sleep"))
        #expect(line.contains("stall_us") && line.contains("waited_us"))
    }
}
