import Foundation
import NIOCore
import Synchronization
import TestKit
import Testing

/// `make test-overload` runs them with a gigabyte.
@Suite("Long bodies", .serialized)
struct TransferTests {
    private static let size =
        (ProcessInfo.processInfo.environment["GATEHOUSE_TRANSFER_MEGABYTES"].flatMap { Int($0) } ?? 96) << 20
    /// By which the gateway's memory may grow meanwhile.
    private static let allowance = 24 << 20

    @Test("A download waits in its service until the client takes it, and not in the gateway")
    func download() async throws {
        try await withFloodUpstream(bytes: Self.size) { upstream in
            try await GatewayProcess.run(leadingTo: upstream.port, bodyLimit: Self.size) { gateway in
                let before = try gateway.privateMemory()
                let sink = Sink()
                let client = try await sink.connect(port: gateway.port)
                try await client.writeAndFlush(ByteBuffer(string: GatewayHarness.request("GET /x")))
                #expect(try await upstream.writtenWhenItWaits() < Self.size)
                #expect(try gateway.privateMemory() <= before + Self.allowance)
                try await client.setOption(.autoRead, value: true).get()
                try await eventually("all of it has come") { sink.count >= Self.size }
                #expect(try gateway.privateMemory() <= before + Self.allowance)
                try await client.close()
            }
        }
    }

    @Test("An upload waits in its client until the service takes it, and not in the gateway")
    func upload() async throws {
        let accepted = Mutex<(any Channel)?>(nil)
        let sink = Sink(
            expected: Self.size, answer: ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
        try await withTCPServer(
            onAccept: { channel in
                try channel.syncOptions?.setOption(.autoRead, value: false)
                try channel.pipeline.syncOperations.addHandler(sink)
                accepted.withLock { $0 = channel }
            }
        ) { port in
            try await GatewayProcess.run(leadingTo: port, bodyLimit: Self.size) { gateway in
                let before = try gateway.privateMemory()
                let client = try await RawClient.connect(port: gateway.port)
                let sent = Mutex(0)
                let head = GatewayHarness.request("POST /x", fields: "Content-Length: \(Self.size)\r\n")
                async let sending: Void = {
                    try await client.send(head)
                    let piece = [UInt8](repeating: 0x78, count: 1 << 20)
                    for _ in 0..<(Self.size >> 20) {
                        try await client.send(piece)
                        sent.withLock { $0 += 1 << 20 }
                    }
                }()
                let waiting = try await whenStill("the client waits") { sent.withLock { $0 } }
                #expect(waiting < Self.size)
                #expect(try gateway.privateMemory() <= before + Self.allowance)
                try await #require(accepted.withLock { $0 }).setOption(.autoRead, value: true).get()
                try await sending
                #expect(try await client.answer().status == 200)
                #expect(try gateway.privateMemory() <= before + Self.allowance)
                await client.close()
            }
        }
    }
}
