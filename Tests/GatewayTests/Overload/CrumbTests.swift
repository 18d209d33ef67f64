import Foundation
import NIOCore
import NIOHTTP1
import TestKit
import Testing

/// A stranger decides into how many pieces a body is cut. What the gateway, and the service behind it, have to do must
/// not grow with their number.
@Suite("Bodies in crumbs", .serialized)
struct CrumbTests {
    private static let size = 60_000
    /// By which the crumbs may cost more; nanoseconds, of a debug build. Each by itself they cost two seconds and more.
    private static let allowance = 400_000_000
    private static let body = (0..<size).map { UInt8(ascii: "a") + UInt8($0 % 26) }

    private func withGateway(
        _ behaviour: @escaping RecordingUpstream.Behaviour = RecordingUpstream.answer("done"),
        settings: [String: String] = [:],
        _ body: (GatewayProcess, RecordingUpstream) async throws -> Void
    ) async throws {
        let upstream = RecordingUpstream(behaviour)
        let port = try await upstream.start()
        try await GatewayProcess.run(leadingTo: port, settings: settings) { gateway in
            try await body(gateway, upstream)
        }
        await upstream.stop()
    }

    /// The least CPU time of the gateway, in nanoseconds, for what `body` does.
    private func cost(_ gateway: GatewayProcess, _ body: () async throws -> Void) async throws -> Int {
        var costs: [Int] = []
        for _ in 0..<4 {
            let before = try gateway.cpuTime()
            try await body()
            costs.append(try gateway.cpuTime() - before)
        }
        return costs.min()!
    }

    private func chunks(_ body: [UInt8], of size: Int, extension text: String = "") -> String {
        stride(from: 0, to: body.count, by: size).map { start in
            let piece = body[start..<min(start + size, body.count)]
            return String(piece.count, radix: 16) + text + "\r\n" + String(decoding: piece, as: UTF8.self) + "\r\n"
        }.joined() + "0\r\n\r\n"
    }

    @Test(
        "Small chunks cost little more than their bytes, the service gets few, and too many are refused",
        arguments: ["", ";a"])
    func chunks(extension text: String) async throws {
        try await withGateway { gateway, upstream in
            func cost(chunksOf size: Int) async throws -> Int {
                let head = GatewayHarness.request("POST /x", fields: "Transfer-Encoding: chunked\r\n")
                let request = Array((head + chunks(Self.body, of: size, extension: text)).utf8)
                return try await self.cost(gateway) {
                    let client = try await RawClient.connect(port: gateway.port)
                    try await client.send(request)
                    #expect(try await client.answer().status == (size < 8 ? 400 : 200))
                    await client.close()
                }
            }
            let whole = try await cost(chunksOf: Self.size)
            let crumbs = try await cost(chunksOf: 8)
            let flood = try await cost(chunksOf: 1)
            print("crumbs: HTTP/1.1 whole \(whole / 1000) µs, \(crumbs / 1000) µs, flood \(flood / 1000) µs")
            #expect(crumbs < whole + Self.allowance && flood < whole + Self.allowance)
            #expect(upstream.requests.allSatisfy { Array($0.body.readableBytesView) == Self.body })
            #expect(upstream.requests.allSatisfy { $0.pieces < Self.size / 100 }, "\(upstream.requests.map(\.pieces))")
        }
    }

    /// How a body is cut into DATA frames, besides their size.
    enum Cut: CaseIterable {
        case withLength, withoutLength
        /// With a byte of padding each, which has a length of its own.
        case padded
        /// With a flag that DATA has not.
        case flagged
        /// With a WINDOW_UPDATE behind each.
        case updates

        func frames(_ data: ArraySlice<UInt8>, ends: Bool) -> [RawHTTP2Frame] {
            var frame = RawHTTP2Frame.data(1, data, ends: ends)
            switch self {
            case .withLength, .withoutLength: return [frame]
            case .padded:
                frame.flags |= 8
                frame.payload = [1] + frame.payload + [0]
                return [frame]
            case .flagged:
                frame.flags |= 2
                return [frame]
            case .updates: return [frame] + (ends ? [] : [.windowUpdate(1, by: 1)])
            }
        }
    }

    @Test("Few DATA frames of HTTP/2 are joined, and too many end the connection", arguments: Cut.allCases)
    func frames(_ cut: Cut) async throws {
        try await withTLSFiles { files, tls in
            let settings = [
                "GATEWAY_TLS_CERTIFICATE_FILE": files.certificate.path, "GATEWAY_TLS_KEY_FILE": files.key.path,
            ]
            try await withGateway(settings: settings) { gateway, upstream in
                func cost(framesOf size: Int) async throws -> Int {
                    let length = cut == .withLength ? [("content-length", Array("\(Self.size)".utf8))] : []
                    var frames = [RawHTTP2Frame.request(1, "POST", "/x", length, ends: false)]
                    for start in stride(from: 0, to: Self.size, by: size) {
                        let end = min(start + size, Self.size)
                        frames += cut.frames(Self.body[start..<end], ends: end == Self.size)
                    }
                    let request = RawHTTP2Client.preface(window: 1 << 20) + frames.flatMap(\.bytes)
                    return try await self.cost(gateway) {
                        let client = try await RawClient.connect(port: gateway.port, tls: tls)
                        try? await client.send(request)
                        _ = try await size > 1 ? client.received("done") : client.untilClosed()
                        await client.close()
                    }
                }
                let whole = try await cost(framesOf: 16_000)
                // As many frames as a client may send at once, and far too many.
                let crumbs = try await cost(framesOf: 80)
                let flood = try await cost(framesOf: 1)
                print("crumbs: HTTP/2 \(cut) whole \(whole / 1000) µs, \(crumbs / 1000) µs, flood \(flood / 1000) µs")
                #expect(crumbs < 4 * whole && flood < 4 * whole)
                #expect(upstream.requests.allSatisfy { Array($0.body.readableBytesView) == Self.body })
                #expect(
                    upstream.requests.allSatisfy { $0.pieces < Self.size / 100 }, "\(upstream.requests.map(\.pieces))")
            }
        }
    }

    @Test("An answer in crumbs: the gateway's work does not grow with their number")
    func answers() async throws {
        let (whole, crumbs) = (chunks(Self.body, of: Self.size), chunks(Self.body, of: 1))
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        try await withGateway({ [.bytes(head + ($0.head.uri == "/x/crumbs" ? crumbs : whole))] }) { gateway, _ in
            func get(_ path: String) async throws {
                let client = try await RawClient.connect(port: gateway.port)
                try await client.send(GatewayHarness.request("GET \(path)"))
                let answer = try await client.answer()
                #expect(Array(answer.body.utf8) == Self.body)
                #expect(answer.raw.components(separatedBy: "\r\n").count < Self.size / 100)
                await client.close()
            }
            let whole = try await cost(gateway) { try await get("/x") }
            let crumbs = try await cost(gateway) { try await get("/x/crumbs") }
            print("crumbs: answer whole \(whole / 1000) µs, crumbs \(crumbs / 1000) µs")
            #expect(crumbs < whole + Self.allowance)
        }
    }
}
