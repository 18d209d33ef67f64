import NIOHPACK
import Synchronization
import TestKit
import Testing

@testable import GatewayService

@Suite("The end of an HTTP/2 connection")
struct HTTP2ConnectionEndTests {
    @Test("A connection ends after its last request, or when nothing comes on it")
    func ends() async throws {
        let options = GatewayHarness.Options { $0.settings.maximumRequestsPerConnection = 2 }
        try await GatewayHarness.withHTTP2Gateway(options) { _, connect in
            let client = try await connect()
            for _ in 0..<3 { #expect(try await client.send(.request("GET", "/open")).status == 200) }
            try await client.closed()
        }
        let impatient = GatewayHarness.Options { $0.settings.idleTimeout = .milliseconds(50) }
        try await GatewayHarness.withHTTP2Gateway(impatient) { _, connect in
            try await connect().closed()
        }
    }

    @Test("A client that says nothing, not even to a ping, does not stay")
    func silence() async throws {
        let options = GatewayHarness.Options {
            $0.settings.idleTimeout = .milliseconds(50)
            $0.settings.lingerTimeout = .milliseconds(50)
            $0.settings.maximumConnectionsPerNetwork = 1
            $0.settings.overLimitTimeout = .milliseconds(50)
        }
        try await GatewayHarness.withTLSGateway(options) { gateway, tls in
            let first = try await RawClient.connect(port: gateway.port, tls: tls)
            let overLimit = try await RawClient.connect(port: gateway.port, tls: tls)
            for client in [first, overLimit] { _ = try await client.untilClosed() }
            try await eventually("none is counted") { gateway.gateway.openConnections.count == 0 }
        }
    }

    @Test("A gateway that stops lets the requests end that it has, and takes no more")
    func drain() async throws {
        let options = GatewayHarness.Options {
            $0.teamBehaviour = { _ in [.bytes("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha")] }
        }
        try await GatewayHarness.withHTTP2Gateway(options) { gateway, connect in
            let (busy, idle) = (try await connect(), try await connect())
            #expect(try await idle.send(.request("GET", "/nothing")).status == 404)
            let stream = try await busy.open()
            try await stream.send(.request("GET", "/open"), endStream: true)
            try await eventually("it has come") { gateway.team.requests.count == 1 }
            gateway.stop()
            try await idle.closed()
            await gateway.team.closeConnections()
            #expect(try await stream.answer.body == "ha")
            try await busy.closed()
        }
    }

    @Test("Connections over the limit are refused, and end")
    func overLimit() async throws {
        let options = GatewayHarness.Options {
            $0.settings.maximumConnectionsPerNetwork = 1
            $0.settings.overLimitTimeout = .seconds(3)
        }
        try await GatewayHarness.withHTTP2Gateway(options) { gateway, connect in
            let first = try await connect()
            try await eventually("the first is counted") {
                gateway.gateway.openConnections.count == 1
            }
            let second = try await connect()
            #expect(try await second.send(.request("GET", "/open")).status == 503)
            #expect(try await first.send(.request("GET", "/open")).status == 200)
            try await second.closed()
            #expect(try await first.send(.request("GET", "/open")).status == 200)
            await first.close()
        }
    }
}
