import Foundation
import NIOCore
import NIOHPACK
import NIOHTTP1
import NIOHTTP2
import NIOSSL
import Synchronization
import TestKit
import Testing

@testable import GatewayService

/// What one stream does wrong ends that stream; the others of the connection get their answers (RFC 9113 §5.4.2).
@Suite("Faults of one HTTP/2 stream")
struct HTTP2FaultTests {
    private typealias Frame = RawHTTP2Frame

    private static let waiting: RecordingUpstream.Behaviour = { request in
        request.head.uri.contains("wait") ? [.pause] : RecordingUpstream.answer("team")(request)
    }

    /// Faults that are one stream's: what is sent on stream 3 beside a request on stream 1 whose body is to come.
    private static let faults: [(name: String, frames: [RawHTTP2Frame], codes: [HTTP2ErrorCode])] = [
        (
            "a window update of 0", [.request(3, "POST", "/open", ends: false), .windowUpdate(3, by: 0)],
            [.protocolError]
        ),
        (
            "a window over 2^31-1", [.request(3, "POST", "/open", ends: false), .windowUpdate(3, by: .max >> 1)],
            [.flowControlError]
        ),
        (
            "DATA after its end", [.request(3, "GET", "/open/wait", ends: true), .data(3, "more")],
            [.streamClosed]
        ),
        (
            "DATA after its end and its answer", [.request(3, "GET", "/nothing", ends: true), .data(3, "more")],
            [.streamClosed]
        ),
        (
            "a second head", [.request(3, "POST", "/open", ends: false), .request(3, "POST", "/open", ends: false)],
            [.protocolError]
        ),
        (
            "a second head after its end",
            [.request(3, "GET", "/open/wait", ends: true), .request(3, "GET", "/open/wait", ends: true)],
            [.protocolError, .streamClosed]
        ),
        (
            "more than it said",
            [.request(3, "POST", "/open", [("content-length", Array("3".utf8))], ends: false)]
                + [.data(3, "abcd", ends: true)], [.protocolError]
        ),
    ]

    private func withTLS(
        _ change: (inout GatewayHarness.Options) -> Void = { _ in },
        _ body: @Sendable (GatewayHarness, NIOSSLContext) async throws -> Void
    ) async throws {
        var options = GatewayHarness.Options { $0.teamBehaviour = Self.waiting }
        change(&options)
        try await GatewayHarness.withTLSGateway(options, body)
    }

    @Test("ends with that stream, and no other stream's answer")
    func faults() async throws {
        try await withTLS { gateway, tls in
            for fault in Self.faults {
                var client = try await RawHTTP2Client(port: gateway.port, tls: tls)
                try await client.send(.request(1, "POST", "/open", ends: false))
                try await client.send(fault.frames)
                let bad = try await client.answer(3)
                if bad.isComplete {
                    // Its answer was there before; the fault is told of after it.
                    while client.answers[3]?.reset == nil { _ = try await client.next() }
                }
                let code = try #require(client.answers[3]?.reset)
                #expect(fault.codes.contains(code), "\(fault.name): \(code)")
                try await client.send(.data(1, "body", ends: true))
                let good = try await client.answer(1)
                #expect(good.status == 200 && good.body == "team", "\(fault.name)")
                #expect(client.goAway == nil, "\(fault.name)")
                await client.close()
            }
        }
    }

    @Test("DATA on a stream that is at its end, again and again")
    func closed() async throws {
        try await withTLS { gateway, tls in
            var client = try await RawHTTP2Client(port: gateway.port, tls: tls)
            try await client.send(.request(1, "POST", "/open", ends: false), .request(3, "GET", "/nothing", ends: true))
            #expect(try await client.answer(3).status == 404)
            // More in all than the connection's window: what goes nowhere is given back.
            let data = String(repeating: "x", count: 16_000)
            for _ in 0..<100 { try await client.send(.data(3, data)) }
            while client.answers[3]?.reset == nil { _ = try await client.next() }
            #expect(client.answers[3]?.reset == .streamClosed)
            try await client.send(.data(1, "body", ends: true))
            #expect(try await client.answer(1).status == 200)
            #expect(client.goAway == nil)
            await client.close()
        }
    }

    @Test("What comes on streams after those that the gateway takes is dropped, and the others end well")
    func afterGoAway() async throws {
        try await withTLS({ $0.settings.maximumRequestsPerConnection = 1 }) { gateway, tls in
            var client = try await RawHTTP2Client(port: gateway.port, tls: tls)
            try await client.send(.request(1, "POST", "/open", ends: false), .request(3, "POST", "/open", ends: false))
            // First the gateway asks with a ping whether its word has arrived (RFC 9113 §6.8).
            var last: [UInt8] = []
            while last != [0, 0, 0, 3] {
                let frame = try await client.next()
                if frame.type == Frame.goAway { last = Array(frame.payload.prefix(4)) }
                if frame.type == Frame.ping, frame.flags == 0 {
                    try await client.send(Frame(type: Frame.ping, flags: 1, stream: 0, payload: frame.payload))
                }
            }
            // More than the connection's window: what goes nowhere is given back.
            let data = String(repeating: "x", count: 16_000)
            try await client.send(.request(5, "POST", "/open", ends: false), .windowUpdate(5, by: 1000))
            try await client.send((0..<100).map { _ in .data(5, data) })
            try await client.send(Frame(type: Frame.rstStream, stream: 5, payload: [0, 0, 0, 8]))
            for stream in [UInt32(1), 3] {
                try await client.send(.data(stream, "body", ends: true))
                let answer = try await client.answer(stream)
                #expect(answer.status == 200 && answer.body == "team")
            }
            #expect(client.goAway == 0 && client.answers[5] == nil && gateway.team.requests.count == 2)
            await client.close()
        }
    }

    @Test("HEADERS on a stream that is at its end cost the connection: only the codec knows their compression")
    func headersOnClosedStream() async throws {
        try await withTLS { gateway, tls in
            var client = try await RawHTTP2Client(port: gateway.port, tls: tls)
            try await client.send(.request(1, "GET", "/nothing", ends: true))
            #expect(try await client.answer(1).status == 404)
            try await client.send(.request(1, "GET", "/nothing", ends: true))
            while client.goAway == nil { _ = try await client.next() }
            #expect(client.goAway == UInt32(HTTP2ErrorCode.protocolError.networkCode))
            await client.close()
        }
    }

    @Test("DATA over a stream's window")
    func window() async throws {
        let deaf = try await DeafUpstream.start()
        try await withTLS({
            $0.teamPorts = [deaf.port]
            $0.settings.connectTimeout = .seconds(30)
            // The sign-in's body comes last.
            $0.serviceTimeout = .seconds(60)
        }) { gateway, tls in
            var client = try await RawHTTP2Client(port: gateway.port, tls: tls)
            try await client.send(
                .request(1, "POST", "/v1/auth/login", ends: false), .request(3, "POST", "/open", ends: false))
            // The upstream does not take the body: what the gateway has kept of it, and the window, come to 128 KiB.
            let data = String(repeating: "x", count: 16_000)
            try await client.send((0..<20).map { _ in .data(3, data) })
            #expect(try await client.answer(3).reset == .flowControlError)
            try await client.send(.data(1, "body", ends: true))
            #expect(try await client.answer(1).status == 200)
            #expect(client.goAway == nil)
            await client.close()
        }
        await deaf.stop()
    }

    @Test("The 101st stream is refused, with the settings known or not", arguments: [true, false])
    func tooMany(knowsSettings: Bool) async throws {
        // A hundred bodies come as late as the machine is slow.
        try await withTLS({ $0.teamTimeout = .seconds(300) }) { gateway, tls in
            let requests = (0..<103).map { Frame.request(UInt32(1 + 2 * $0), "POST", "/open", ends: false) }
            var client = try await RawHTTP2Client(
                port: gateway.port, tls: tls, sendingAtOnce: knowsSettings ? [] : requests)
            if knowsSettings { try await client.send(requests) } else { try await client.acknowledgeSettings() }
            for stream in [UInt32(201), 203, 205] {
                #expect(try await client.answer(stream).reset == .refusedStream)
            }
            // The stream that ends makes room for another one.
            try await client.send(.data(1, "body", ends: true))
            #expect(try await client.answer(1).status == 200)
            try await client.send(.request(207, "GET", "/open", ends: true))
            #expect(try await client.answer(207).status == 200)
            for stream in stride(from: UInt32(3), through: 199, by: 2) {
                try await client.send(.data(stream, "body", ends: true))
            }
            for stream in stride(from: UInt32(3), through: 199, by: 2) {
                #expect(try await client.answer(stream).status == 200)
            }
            #expect(client.goAway == nil && gateway.team.requests.count == 101)
            await client.close()
        }
    }

    @Test("A client goes on to open refused streams: the connection ends")
    func flood() async throws {
        try await withTLS { gateway, tls in
            let requests = (0..<3000).map { Frame.request(UInt32(1 + 2 * $0), "POST", "/open", ends: false) }
            let client = try await RawHTTP2Client(port: gateway.port, tls: tls)
            try? await client.send(requests)
            try await eventually("it is closed") { gateway.gateway.openConnections.count == 0 }
            await client.close()
        }
    }

    @Test("A client that sends too many DATA frames for what is in them loses the connection")
    func dataFrames() async throws {
        let log = CapturedLog()
        try await withTLS({
            $0.logger = log.logger
            $0.settings.accessLogShare = 1
        }) { gateway, tls in
            let client = try await RawHTTP2Client(port: gateway.port, tls: tls)
            // Each counts as it was sent, although they are merged, and those of an unknown type dropped (RFC 9113
            // §4.1).
            let crumbs = (0..<5000).flatMap { _ in [Frame.data(1, "x"), Frame(type: 0x20, stream: 0)] }
            try? await client.send(
                [.request(1, "POST", "/open", ends: false)] + crumbs + [.data(1, "last", ends: true)])
            try await eventually("it is closed") { gateway.gateway.openConnections.count == 0 }
            #expect(gateway.team.requests.isEmpty)
            #expect(log.lines.contains { $0.contains("\"refusal\": DATA frames") })
            await client.close()
        }
    }

    @Test("What a client says of a download is not counted")
    func windowUpdates() async throws {
        try await withTLS { gateway, tls in
            var client = try await RawHTTP2Client(port: gateway.port, tls: tls)
            let updates = (0..<5000).flatMap { _ in [Frame.windowUpdate(0, by: 1), Frame(type: 0x20, stream: 0)] }
            try await client.send(updates + [.request(1, "GET", "/open", ends: true)])
            #expect(try await client.answer(1).status == 200)
            await client.close()
        }
    }

    @Test("The client gets room again for padding, which goes nowhere")
    func padding() async throws {
        try await withTLS { gateway, tls in
            var client = try await RawHTTP2Client(port: gateway.port, tls: tls)
            try await client.send(.request(1, "POST", "/open", ends: false))
            // Three times what the stream's window holds, and fewer frames than a client may send at once; each is sent
            // only when the gateway has made room.
            let frame = Frame(
                type: Frame.data, flags: 8, stream: 1, payload: [255, 120] + Array(repeating: 0, count: 255))
            var window = 65_535
            for _ in 0..<450 {
                while window < 2 * frame.payload.count {
                    let next = try await client.next()
                    guard next.type == Frame.windowUpdate, next.stream == 1 else { continue }
                    window += next.payload.reduce(0) { $0 << 8 | Int($1) }
                }
                try await client.send(frame, frame)
                window -= 2 * frame.payload.count
            }
            try await client.send(.data(1, "", ends: true))
            #expect(try await client.answer(1).status == 200)
            #expect(gateway.team.requests.first?.text == String(repeating: "x", count: 900))
            await client.close()
        }
    }

    @Test("Requests that cannot be read count against the limit of their address", arguments: [true, false])
    func limited(isReset: Bool) async throws {
        let marks = String(repeating: "\u{301}\u{323}", count: 3_750)
        #expect(marks.utf8.count == 15_000)
        try await withTLS({ $0.settings.addressLimit = RateLimit(capacity: 3, perSecond: 0.001) }) { gateway, tls in
            var client = try await RawHTTP2Client(port: gateway.port, tls: tls)
            for stream in [UInt32(1), 3, 5] {
                let request =
                    isReset
                    ? Frame.request(stream, "GET", "/nothing", [("Upper", [])], ends: true)
                    : Frame.request(stream, "HEAD" + marks, "/nothing", ends: true)
                try await client.send(request)
                let answer = try await client.answer(stream)
                if isReset { #expect(answer.reset == .protocolError) } else { #expect(answer.status == 400) }
            }
            try await client.send(.request(7, "GET", "/nothing", ends: true))
            #expect(try await client.answer(7).status == 429)
            await client.close()
        }
    }

    @Test("A request whose head ends it and tells of a body")
    func bodyThatIsNotThere() async throws {
        try await withTLS { gateway, tls in
            var client = try await RawHTTP2Client(port: gateway.port, tls: tls)
            let length = [("content-length", Array("3".utf8))]
            try await client.send(.request(1, "POST", "/open", length, ends: true))
            #expect(try await client.answer(1).reset == .protocolError)
            try await client.send(
                .request(3, "POST", "/open", length, ends: false), .data(3, "ab"),
                .headers(3, [("x-sum", [])], ends: true))
            #expect(try await client.answer(3).reset == .protocolError)
            #expect(gateway.team.requests.isEmpty)
            await client.close()
        }
    }

    @Test("A head that is too large is 431 from the first moment on")
    func largeHead() async throws {
        try await withTLS { gateway, tls in
            let value = [UInt8](repeating: 0x61, count: 15_000)
            let frame = Frame.request(1, "GET", "/open", [("a", value)], ends: true)
            var head = frame.payload
            head += Frame.headers(1, [("b", Array(value.prefix(9_000)))], ends: true).payload
            // In two frames: one may not be longer than 16 KiB.
            let frames = [
                Frame(type: Frame.headers, flags: 1, stream: 1, payload: Array(head[..<16_000])),
                Frame(type: 9, flags: 4, stream: 1, payload: Array(head[16_000...])),
                Frame.request(3, "GET", "/open", ends: true),
            ]
            var client = try await RawHTTP2Client(port: gateway.port, tls: tls, sendingAtOnce: frames)
            #expect(try await client.answer(1).status == 431)
            #expect(try await client.answer(3).status == 200)
            #expect(client.goAway == nil)
            // It is not taken for a second acknowledgement.
            try await client.send(Frame(type: Frame.settings, flags: 1, stream: 0))
            try await client.send(.request(5, "GET", "/open", ends: true))
            #expect(try await client.answer(5).status == 200)
            await client.close()
        }
    }

    @Test("A body goes on as whole only when its stream has ended")
    func lengths() async throws {
        try await withTLS { gateway, tls in
            for (number, (length, body)) in [("3", "abc"), ("0", "")].enumerated() {
                var client = try await RawHTTP2Client(port: gateway.port, tls: tls)
                let field = [("content-length", Array(length.utf8))]
                try await client.send(.request(1, "POST", "/open", field, ends: false))
                if !body.isEmpty { try await client.send(.data(1, body)) }
                // Its answer shows that all before it was looked at.
                try await client.send(.request(3, "GET", "/nothing", ends: true))
                #expect(try await client.answer(3).status == 404)
                try await client.send(.data(1, "more", ends: true))
                #expect(try await client.answer(1).reset == .protocolError)
                try await client.send(.request(5, "POST", "/open", field, ends: false), .data(5, body, ends: true))
                #expect(try await client.answer(5).status == 200)
                #expect(gateway.team.requests.count == number + 1)
                #expect(gateway.team.requests.last?.text == body)
                await client.close()
            }
        }
    }

    @Test("Bytes that are no UTF-8 are never changed unseen")
    func bytes() async throws {
        let behaviour: RecordingUpstream.Behaviour = { _ in
            [
                .bytes("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-UTF: caf\u{e9}\r\nX-Latin: caf"), .raw([0xE9]),
                .bytes("\r\n\r\n"),
            ]
        }
        try await withTLS({ $0.teamBehaviour = behaviour }) { gateway, tls in
            var client = try await RawHTTP2Client(port: gateway.port, tls: tls)
            try await client.send(.request(1, "GET", "/open", [("x", [0x63, 0xE9])], ends: true))
            #expect(try await client.answer(1).reset == .protocolError)
            #expect(gateway.team.begun == 0)
            try await client.send(.request(3, "GET", "/open", [("x", Array("caf\u{e9}".utf8))], ends: true))
            let fields = try await client.answer(3).fields
            #expect(fields.first(name: "x-utf") == "caf\u{e9}")
            #expect(fields.first(name: "x-latin") == "caf\u{e9}")
            #expect(gateway.team.requests.first?.field("x") == "caf\u{e9}")
            await client.close()
        }
    }
}
