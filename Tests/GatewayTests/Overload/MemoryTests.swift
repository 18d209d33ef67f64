import Foundation
import NIOCore
import TestKit
import Testing

/// What the gateway keeps for clients and services that stop taking, whatever the other side does.
@Suite("Memory", .serialized)
struct MemoryTests {
    @Test("A hundred clients that do not read their answers cost little together")
    func manyClients() async throws {
        try await withFloodUpstream(bytes: 8 << 20) { upstream in
            try await GatewayProcess.run(leadingTo: upstream.port, bodyLimit: 1_000_000_000) { gateway in
                #expect(try await gateway.send("GET /livez").status == 200)
                let before = try gateway.privateMemory()
                var clients: [any Channel] = []
                for _ in 0..<100 {
                    let client = try await Sink().connect(port: gateway.port)
                    try await client.writeAndFlush(ByteBuffer(string: GatewayHarness.request("GET /x")))
                    clients.append(client)
                }
                _ = try await upstream.writtenWhenItWaits()
                let grown = try gateway.privateMemory() - before
                print("memory: 100 clients that do not read: \(grown >> 10) KiB")
                #expect(grown < 24 << 20)
                for client in clients { try await client.close() }
            }
        }
    }

    @Test("What a service has sent when it closes waits in its socket while the client does not read")
    func closedUpstream() async throws {
        let size = 64 << 20
        try await withFloodUpstream(bytes: size, closes: true) { upstream in
            try await GatewayProcess.run(leadingTo: upstream.port, bodyLimit: 1_000_000_000) { gateway in
                #expect(try await gateway.send("GET /livez").status == 200)
                let before = try gateway.privateMemory()
                var clients: [(sink: Sink, channel: any Channel)] = []
                for number in 1...8 {
                    let sink = Sink()
                    let channel = try await sink.connect(port: gateway.port)
                    try await channel.writeAndFlush(
                        ByteBuffer(string: GatewayHarness.request("GET /x", fields: "Connection: close\r\n")))
                    // Reads at first, so that the sockets learn to hold much. How much is seen by what they take.
                    while sink.count < size - number << 20 {
                        channel.read()
                        try await Task.sleep(for: .milliseconds(1))
                    }
                    clients.append((sink, channel))
                }
                _ = try await upstream.writtenWhenItWaits()
                let grown = try gateway.privateMemory() - before
                print("memory: 8 services that closed: \(grown >> 10) KiB")
                #expect(grown < 10 << 20)
                for client in clients { try? await client.channel.setOption(.autoRead, value: true).get() }
                try await eventually("all of it has come") { clients.allSatisfy { $0.sink.count >= size } }
                for client in clients { try? await client.channel.close() }
            }
        }
    }
}
