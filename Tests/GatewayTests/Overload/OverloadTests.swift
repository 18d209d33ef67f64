import Foundation
import NIOCore
import TestKit
import Testing

/// `make test-overload` runs the long form.
@Suite("Three times as much as can be served", .serialized)
struct OverloadTests {
    private static let duration = Duration.seconds(
        ProcessInfo.processInfo.environment["GATEHOUSE_OVERLOAD_SECONDS"].flatMap { Int($0) } ?? 4)
    /// Requests that the gateway may have in flight; three times as many clients have one each.
    private static let permits = 16

    private func routes(_ ports: [Int]) -> String {
        """
        routes:
          - name: x
            path: /x
            upstreams: [\(ports.map { "http://127.0.0.1:\($0)" }.joined(separator: ", "))]
            authentication: none
        """
    }

    @Test("Good requests are served or told to come later, and nothing is left over")
    func overload() async throws {
        let upstreams = [SlowUpstream(pause: .milliseconds(20)), SlowUpstream(pause: .milliseconds(20))]
        let ports = [try await upstreams[0].start(), try await upstreams[1].start()]
        let tally = Tally()
        try await GatewayProcess.run(
            routes: routes(ports), settings: ["GATEWAY_MAXIMUM_REQUESTS_IN_FLIGHT": "\(Self.permits)"]
        ) { gateway in
            #expect(try await gateway.send("GET /x").status == 200)
            try await eventually("nothing is open") { upstreams.allSatisfy { $0.open == 0 } }
            let before = try gateway.descriptors()
            let memory = try await run(gateway, ports, tally)
            try await eventually("descriptors are back to where they were") { try gateway.descriptors() <= before }
            try await eventually("nothing is open") { upstreams.allSatisfy { $0.open == 0 } }
            let (middle, end) = (memory[memory.count / 2], try gateway.privateMemory())
            #expect(Double(end) <= Double(middle) * 1.25 + 8e6, "\(memory)")
            #expect(try await gateway.send("GET /x").status == 200)
            print("overload: \(tally), private MB \(middle / 1_000_000) → \(end / 1_000_000)")
        }
        #expect(tally.outcomes == ["200", "503 UNAVAILABLE"], "\(tally)")
        #expect(upstreams.allSatisfy { $0.served > 0 })
        for upstream in upstreams { await upstream.stop() }
    }

    /// - Returns: the gateway's private memory, looked at each second, in bytes.
    private func run(_ gateway: GatewayProcess, _ ports: [Int], _ tally: Tally) async throws -> [Int] {
        let load = Load()
        var memory: [Int] = []
        try await withThrowingTaskGroup(of: Void.self) { clients in
            let request = GatewayHarness.request("POST /x", body: String(repeating: "x", count: 1000))
            for _ in 0..<(3 * Self.permits) {
                clients.addTask { try await GoodClient.run(request, port: gateway.port, tally: tally, load: load) }
            }
            for _ in 0..<4 {
                clients.addTask { while load.goesOn { try? await dawdle(gateway, request) } }
                clients.addTask { while load.goesOn { try? await breakOff(gateway, request) } }
            }
            let end = ContinuousClock.now + Self.duration
            repeat {
                try await Task.sleep(for: .seconds(1))
                let reloads = gateway.reloads
                try gateway.write(routes: routes(memory.count % 2 == 0 ? [ports[0]] : ports))
                gateway.signal(SIGHUP)
                try await eventually("it reloads") { gateway.reloads > reloads }
                memory.append(try gateway.privateMemory())
            } while ContinuousClock.now < end
            load.end()
            try await clients.waitForAll()
        }
        return memory
    }

    /// Sends a request in crumbs and takes its time over the answer.
    private func dawdle(_ gateway: GatewayProcess, _ request: String) async throws {
        let client = try await RawClient.connect(port: gateway.port)
        defer { Task { await client.close() } }
        var rest = Substring(request)
        while !rest.isEmpty {
            try await client.send(String(rest.prefix(100)))
            rest = rest.dropFirst(100)
            try await Task.sleep(for: .milliseconds(50))
        }
        _ = try await client.answer()
    }

    /// Goes away in the middle of a request, or of the wait for its answer.
    private func breakOff(_ gateway: GatewayProcess, _ request: String) async throws {
        let client = try await RawClient.connect(port: gateway.port)
        try await client.send(String(request.prefix(Int.random(in: 1...request.utf8.count))))
        try await Task.sleep(for: .milliseconds(10))
        await client.reset()
    }
}
