import NIOHPACK
import NIOHTTP1
import NIOSSL
import TestKit
import Testing

@testable import GatewayService

/// What clients of HTTP/2 are sent of the heads of responses.
@Suite("Heads of responses over HTTP/2")
struct HTTP2ResponseHeadTests {
    private typealias Frame = RawHTTP2Frame

    @Test("A client cannot have the encoder keep more than the usual table, however many requests it sends")
    func table() async throws {
        let options = GatewayHarness.Options { $0.settings.maximumRequestsPerConnection = 20_000 }
        try await GatewayHarness.withTLSGateway(options) { gateway, tls in
            var client = try await RawHTTP2Client(
                port: gateway.port, tls: tls, sendingAtOnce: [.headerTable(.max), .windowUpdate(0, by: 1 << 30)])
            try await client.acknowledgeSettings()
            var stream = UInt32(1)
            for _ in 0..<100 {
                let batch = (0..<100).map { stream + UInt32($0) * 2 }
                try await client.send(batch.map { .request($0, "GET", "/nothing", ends: true) })
                // The client's table is the usual one: it could not read a head that needs a larger one.
                for stream in batch {
                    let fields = try await client.answer(stream).fields
                    let requestID = try #require(fields.first { $0.name == "x-request-id" })
                    #expect(requestID.indexable == .nonIndexable)
                }
                stream += 200
            }
            await client.close()
        }
    }

    @Test("A smaller table is the client's to choose, in one piece or in several")
    func smallTable() async throws {
        try await GatewayHarness.withTLSGateway { gateway, tls in
            let client = try await RawClient.connect(port: gateway.port, tls: tls)
            let bytes = Frame.headerTable(0).bytes + Frame.request(1, "GET", "/nothing", ends: true).bytes
            for part in [RawHTTP2Client.preface() + bytes.prefix(11), Array(bytes.dropFirst(11))] {
                try await client.send(part)
            }
            while true {
                let (frame, length) = Frame.head(try await client.bytes(9)[...])
                let payload = try await client.bytes(length)
                guard frame.type == Frame.headers else { continue }
                // The change to a table of no bytes (RFC 7541 §6.3).
                #expect(payload.first == 0x20)
                break
            }
            await client.close()
        }
    }

    /// Responses that come as near to the limits as an upstream may.
    private static let longHeads: [String: String] = [
        "/open/fields": (1...99).map { "x-\($0): 1\r\n" }.joined(),
        "/open/bytes": "x: " + String(repeating: "a", count: 16_300) + "\r\n",
        // Longer in Huffman's code than without it.
        "/open/braces": "x: " + String(repeating: "{", count: 16_300) + "\r\n",
        // Their order is a part of what they say.
        "/open/cookies": (1...16).map { "Set-Cookie: c=\($0)" + String(repeating: "|", count: 900) + "\r\n" }.joined(),
    ]

    @Test("A head that passes over HTTP/1.1 passes over HTTP/2", arguments: longHeads.keys.sorted())
    func long(path: String) async throws {
        let options = GatewayHarness.Options {
            $0.teamBehaviour = { request in
                let fields = Self.longHeads["/open" + request.head.uri] ?? ""
                return [.bytes("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\(fields)\r\nok")]
            }
        }
        try await GatewayHarness.withTLSGateway(options) { gateway, tls in
            var client = try await RawHTTP2Client(port: gateway.port, tls: tls)
            for stream in [UInt32(1), 3] {
                try await client.send(.request(stream, "GET", path, ends: true))
                let answer = try await client.answer(stream)
                #expect(answer.status == 200 && answer.body == "ok" && answer.fields.count > 3)
                switch path {
                case "/open/fields": #expect(answer.fields.contains(name: "x-99"))
                case "/open/cookies":
                    let numbers = answer.fields["set-cookie"].map { $0.dropFirst(2).prefix { $0 != "|" } }
                    #expect(numbers == (1...16).map { "\($0)" })
                default: #expect(answer.fields.first(name: "x")?.utf8.count == 16_300)
                }
            }
            await client.close()
        }
    }

    @Test("Trailers that pass over HTTP/1.1 pass over HTTP/2")
    func longTrailers() async throws {
        let value = String(repeating: "{", count: 16_300)
        let options = GatewayHarness.Options {
            $0.teamBehaviour = { _ in
                [.bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nx: \(value)\r\n\r\n")]
            }
        }
        try await GatewayHarness.withTLSGateway(options) { gateway, tls in
            var client = try await RawHTTP2Client(port: gateway.port, tls: tls)
            try await client.send(.request(1, "GET", "/open/trailers", ends: true))
            let answer = try await client.answer(1)
            // Of the last HEADERS.
            #expect(answer.reset == nil && answer.body == "ok" && answer.fields.map(\.name) == ["x"])
            #expect(answer.fields.first(name: "x") == value)
            await client.close()
        }
    }
}
