import Foundation
import NIOCore
import NIOHTTP1
import Synchronization
import TestKit
import Testing

@testable import GatewayService

@Suite("Clients that take their time over an answer")
struct SlowClientTests {
    /// More than sockets hold.
    private static let size = 8 << 20

    private static let request = RawHTTP2Frame.request(1, "GET", "/open", ends: true)

    /// Times that a client who reads as `SlowReader` here does exceeds by far.
    private func options(_ port: Int, _ change: (inout GatewaySettings) -> Void = { _ in }) -> GatewayHarness.Options {
        GatewayHarness.Options {
            $0.teamPorts = [port]
            $0.settings.lingerTimeout = .milliseconds(20)
            $0.settings.longestLinger = .milliseconds(50)
            change(&$0.settings)
        }
    }

    private func bodyCount(_ bytes: [UInt8]) -> Int {
        bytes.firstRange(of: Array("\r\n\r\n".utf8)).map { bytes.count - $0.upperBound } ?? 0
    }

    @Test("The end of an answer is not lost with its connection: it said close, was the last, or idles")
    func tail() async throws {
        try await withFloodUpstream(bytes: Self.size) { upstream in
            let last = options(upstream.port) { $0.maximumRequestsPerConnection = 1 }
            let impatient = options(upstream.port) { $0.idleTimeout = .milliseconds(20) }
            for (fields, options) in [
                ("Connection: close\r\n", options(upstream.port)), ("", last), ("", impatient),
            ] {
                try await GatewayHarness.withGateway(options) { gateway in
                    let client = try await SlowReader.connect(
                        port: gateway.port, piece: 64 << 10, pause: .milliseconds(4), keepsBytes: true)
                    try await client.send(GatewayHarness.request("GET /open", fields: fields))
                    try await eventually("the connection ends") { client.isClosed }
                    #expect(bodyCount(client.bytes) == Self.size)
                }
            }
        }
    }

    @Test("Nor is it when the gateway stops")
    func drain() async throws {
        try await withFloodUpstream(bytes: Self.size) { upstream in
            try await GatewayHarness.withGateway(options(upstream.port)) { gateway in
                let client = try await SlowReader.connect(
                    port: gateway.port, piece: 64 << 10, pause: .milliseconds(4), keepsBytes: true)
                try await client.send(GatewayHarness.request("GET /open"))
                try await eventually("the answer comes") { client.count > 0 }
                gateway.stop()
                try await eventually("the connection ends") { client.isClosed }
                #expect(bodyCount(client.bytes) == Self.size)
            }
        }
    }

    @Test("Nor is it over HTTP/2, where then the connection ends with its last stream")
    func tailOfStream() async throws {
        try await withFloodUpstream(bytes: Self.size) { upstream in
            try await GatewayHarness.withTLSGateway(options(upstream.port)) { gateway, tls in
                let client = try await SlowReader.connect(
                    port: gateway.port, piece: 64 << 10, pause: .milliseconds(4), tls: tls, keepsBytes: true)
                try await client.send(RawHTTP2Client.preface() + Self.request.bytes)
                try await eventually("the answer comes") { RawHTTP2Frame.outcome(in: client.bytes).count > 0 }
                gateway.stop()
                try await eventually("the connection ends") { client.isClosed }
                #expect(
                    RawHTTP2Frame.outcome(in: client.bytes)
                        == .init(count: Self.size, isComplete: true, hasHead: true))
            }
        }
    }

    /// A client who takes 100 kB in a second is far too slow for them.
    private func demands(_ port: Int? = nil) -> GatewayHarness.Options {
        GatewayHarness.Options {
            if let port { $0.teamPorts = [port] }
            $0.settings.minimumResponseRate = 1 << 30
            $0.settings.responseTimeout = .milliseconds(200)
        }
    }

    @Test("The client takes an answer below the minimum rate: the connection ends, and its permit is free")
    func tooSlow() async throws {
        try await withFloodUpstream(bytes: Self.size) { upstream in
            try await GatewayHarness.withGateway(demands(upstream.port)) { gateway in
                let client = try await SlowReader.connect(
                    port: gateway.port, piece: 1 << 10, pause: .milliseconds(10), keepsBytes: true)
                try await client.send(GatewayHarness.request("GET /open"))
                try await eventually("the service is let go") { upstream.isLetGo }
                await client.close()
            }
        }
    }

    @Test("A stream of HTTP/2 opens no window: it is reset, and its connection stays")
    func closedWindow() async throws {
        try await withFloodUpstream(bytes: Self.size) { upstream in
            try await GatewayHarness.withTLSGateway(demands(upstream.port)) { gateway, tls in
                let client = try await SlowReader.connect(
                    port: gateway.port, piece: 1 << 10, pause: .milliseconds(1), tls: tls, keepsBytes: true)
                try await client.send(RawHTTP2Client.preface(window: 0) + Self.request.bytes)
                try await eventually("it is reset") { RawHTTP2Frame.outcome(in: client.bytes).resetCode != nil }
                #expect(RawHTTP2Frame.outcome(in: client.bytes).count == 0)
                #expect(!client.isClosed)
                await client.close()
            }
        }
    }

    @Test("A stream whose service is slow has all the time that it wants")
    func slowService() async throws {
        var options = demands()
        options.teamBehaviour = { request in
            guard request.head.uri.hasSuffix("slow") else {
                return [.bytes("HTTP/1.1 200 OK\r\nContent-Length: \(Self.size)\r\n\r\n"), .raw(Self.content)]
            }
            return [.bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), .pause]
        }
        try await GatewayHarness.withGateway(options) { gateway in
            let client = try await gateway.connect()
            try await client.send(GatewayHarness.request("GET /open/slow"))
            _ = try await client.received("hello")
            // Who came later and is slow himself has used up his time when he is cut off.
            let slow = try await SlowReader.connect(port: gateway.port, piece: 1 << 10, pause: .milliseconds(10))
            try await slow.send(GatewayHarness.request("GET /open/much"))
            try await eventually("one is cut off") { gateway.team.requests.count == 2 && gateway.team.open == 1 }
            await #expect(throws: RawClient.Timeout.self) { try await client.untilClosed(within: .zero) }
            await client.close()
            await slow.close()
        }
    }

    private static let content = [UInt8](repeating: 0x78, count: size)
}
