import Foundation
import TestKit
import Testing

@Suite("A replica whose process stands still")
struct HealthCheckProcessTests {
    @Test("Its checks find it, no request meets it then, and metrics tell of both")
    func suspended() async throws {
        try await UpstreamProcess.run { good in
            try await UpstreamProcess.run { bad in
                let routes = """
                    routes:
                      - name: x
                        path: /x
                        authentication: none
                        upstreams: [\([good, bad].map { "'http://127.0.0.1:\($0.port)'" }.joined(separator: ", "))]
                        healthCheck: {path: /health, interval: 1, timeout: 2}
                    """
                try await GatewayProcess.run(routes: routes) { gateway in
                    func metric(_ name: String) async throws -> Double? {
                        try await gateway.metrics().split(separator: "\n").first { $0.hasPrefix("\(name) ") }?
                            .split(separator: " ").last.flatMap { Double($0) }
                    }
                    func isUnhealthy(_ service: UpstreamProcess) async throws -> Double? {
                        let labels = #"address="127.0.0.1:\#(service.port)",path="/health""#
                        return try await metric("gatehouse_gateway_upstream_unhealthy{\(labels)}")
                    }
                    func checks(_ result: String) async throws -> Double {
                        try await metric("gatehouse_gateway_health_checks_total{result=\"\(result)\"}") ?? 0
                    }
                    try await eventually("they are asked") { try await checks("passed") >= 2 }
                    #expect(try await isUnhealthy(bad) == 0)
                    // Connections to both are kept.
                    for _ in 0..<8 { #expect(try await gateway.send("GET /x").status == 200) }

                    // The system goes on taking connections for it.
                    bad.signal(SIGSTOP)
                    try await eventually("its checks have found it") { try await isUnhealthy(bad) == 1 }
                    for _ in 0..<20 { #expect(try await gateway.send("GET /x").status == 200) }
                    #expect(try await checks("failed") >= 2)
                    #expect(try await isUnhealthy(good) == 0)

                    bad.signal(SIGCONT)
                    try await eventually("it is well again") { try await isUnhealthy(bad) == 0 }
                }
            }
        }
    }
}
