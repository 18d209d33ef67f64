import Foundation
import TestKit
import Testing

@Suite("The gateway's process and its routes file", .serialized)
struct ReloadProcessTests {
    private func routes(_ upstreams: String...) -> String {
        """
        routes:
          - name: x
            path: /x
            upstreams: [\(upstreams.joined(separator: ", "))]
            authentication: none
        """
    }

    private func address(_ port: Int) -> String { "http://127.0.0.1:\(port)" }

    @Test("SIGHUP and a changed file reload; a bad one changes nothing, and metrics and log say so")
    func reload() async throws {
        let upstream = RecordingUpstream(RecordingUpstream.answer("up"))
        let port = try await upstream.start()
        try await GatewayProcess.run(routes: routes(address(port))) { gateway in
            #expect(try await gateway.send("GET /x").body == "up")
            let metrics = try await gateway.metrics()
            #expect(metrics.contains("gatehouse_gateway_routes_last_reload_successful 1.0\n"))
            let time = try #require(
                metrics.split(separator: "\n")
                    .first { $0.hasPrefix("gatehouse_gateway_routes_last_reload_success_timestamp_seconds ") }?
                    .split(separator: " ").last.flatMap { Double($0) })
            #expect(abs(time - Date.now.timeIntervalSince1970) < 600)

            gateway.signal(SIGHUP)
            try await eventually("a signal reloads") { gateway.reloads == 2 }
            try gateway.write(routes: "routes:\n  - name: x\n    path: y\n    upstreams: [http://x]")
            try await eventually("a changed file is complained of") {
                gateway.log.contains("line 3, route x: 'y' is not a plain path")
            }
            #expect(try await gateway.metrics().contains("gatehouse_gateway_routes_last_reload_successful 0.0\n"))
            #expect(try await gateway.send("GET /x").body == "up")
            try gateway.write(routes: routes(address(port)).replacing("/x", with: "/y"))
            try await eventually("a changed file reloads") { gateway.reloads == 3 }
            try await eventually("its routes are there") { try await gateway.send("GET /y").body == "up" }
            #expect(try await gateway.send("GET /x").status == 404)
            #expect(try await gateway.metrics().contains("gatehouse_gateway_routes_last_reload_successful 1.0\n"))
        }
        await upstream.stop()
    }

    @Test("Metrics tell which address is set aside for as long as a route names it")
    func circuit() async throws {
        let upstream = RecordingUpstream(RecordingUpstream.answer("up"))
        let port = try await upstream.start()
        try await GatewayProcess.run(routes: routes("http://127.0.0.1:1", address(port))) { gateway in
            let bad = "gatehouse_gateway_upstream_set_aside_event_loops{address=\"127.0.0.1:1\"}"
            let good = "gatehouse_gateway_upstream_set_aside_event_loops{address=\"127.0.0.1:\(port)\"}"
            try await eventually("the one is set aside") {
                #expect(try await gateway.send("GET /x").body == "up")
                let metrics = try await gateway.metrics()
                return metrics.contains(bad) && !metrics.contains("\(bad) 0.0")
            }
            let metrics = try await gateway.metrics()
            #expect(metrics.contains("\(good) 0.0"))
            #expect(!metrics.contains("gatehouse_gateway_upstream_set_aside_total 0\n"))
            let retries = "gatehouse_gateway_retries_total{result=\"sent\"}"
            #expect(metrics.contains("\(retries) ") && !metrics.contains("\(retries) 0\n"))
            // Another address: Gatehouse's own services stay at the first one.
            try gateway.write(routes: "routes: []")
            try await eventually("the other is forgotten") {
                let metrics = try await gateway.metrics()
                return metrics.contains(bad) && !metrics.contains(good)
            }
        }
        await upstream.stop()
    }

    @Test("Reloads under load refuse no request and leave no descriptor behind")
    func load() async throws {
        let upstreams = ["a", "b"].map { RecordingUpstream(RecordingUpstream.answer($0)) }
        var files: [String] = []
        for upstream in upstreams { files.append(routes(address(try await upstream.start()))) }
        let routes = files
        try await GatewayProcess.run(routes: routes[0]) { gateway in
            #expect(try await gateway.send("GET /x").body == "a")
            try await eventually("nothing is open") { upstreams[0].open == 0 }
            let before = try gateway.descriptors()
            let load = Load()
            try await withThrowingTaskGroup(of: Set<String>.self) { clients in
                for _ in 0..<16 {
                    clients.addTask {
                        let client = try await RawClient.connect(port: gateway.port)
                        var seen: Set<String> = []
                        while load.goesOn {
                            try await client.send(GatewayHarness.request("POST /x", body: "x"))
                            let answer = try await client.answer()
                            try #require(answer.status == 200, "\(answer.raw)")
                            seen.insert(answer.body)
                        }
                        await client.close()
                        return seen
                    }
                }
                for number in 1...100 {
                    let reloads = gateway.reloads
                    try gateway.write(routes: routes[number % 2])
                    gateway.signal(SIGHUP)
                    try await eventually("it reloads") { gateway.reloads > reloads }
                }
                load.end()
                for try await seen in clients { #expect(seen == ["a", "b"]) }
            }
            try await eventually("descriptors are back to where they were") { try gateway.descriptors() <= before }
            #expect(upstreams[1].open == 0)
        }
        for upstream in upstreams { await upstream.stop() }
    }
}
