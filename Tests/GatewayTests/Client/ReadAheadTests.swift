import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import TestKit
import Testing

@testable import GatewayService

@Suite("What a client sends ahead of answers that it does not read")
struct ReadAheadTests {
    private let loop = EmbeddedEventLoop()
    private let worker: Worker
    private let peer: ClientPeer

    init() throws {
        let gateway = try GatewayHarness.makeGateway(GatewayHarness.Options(), ownPort: 1, teamPorts: [1])
        worker = Worker(eventLoop: loop, gateway: gateway)
        peer = ClientPeer(.unknown, gateway: gateway, isSecure: false)
    }

    private func connect(_ handlers: [any ChannelHandler]) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(handlers: handlers, loop: loop)
        try channel.connect(to: .init(ipAddress: "127.0.0.1", port: 1)).wait()
        // The answers before fill what may wait for the client.
        channel.isWritable = false
        return channel
    }

    /// NIO reads what the system holds once a client has closed its side, whether or not the gateway asked.
    @Test("More of it than is kept ends the connection, where nothing was asked for")
    func unasked() throws {
        let channel = try connect([ClientConnection(worker: worker, peer: peer)])
        let piece = ByteBuffer(repeating: UInt8(ascii: "x"), count: 64 << 10)
        for _ in 0..<4 {
            try channel.writeInbound(piece)
            channel.read()
        }
        #expect(channel.isActive)
        try channel.writeInbound(piece)
        #expect(!channel.isActive)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test("A stream of HTTP/2 is to be sent again, and no answer is kept for it too")
    func stream() throws {
        let parent = HTTP2Connection(on: EmbeddedChannel(loop: loop), worker: worker, peer: peer)
        let frames = HTTP2FrameGuard(
            maximumStreams: 1, waitingData: HTTP2WaitingData(of: worker), now: { 0 }, onFault: {}, onExcess: {},
            onFlood: {})
        let stream = HTTP2Stream(1, of: parent, frames)
        let client = ClientConnection(worker: worker, peer: peer, stream: stream)
        let channel = try connect([stream, client])
        let head: HPACKHeaders = [":method": "GET", ":scheme": "https", ":authority": "h", ":path": "/livez"]
        try channel.writeInbound(HTTP2Frame.FramePayload.headers(.init(headers: head, endStream: true)))
        #expect(try channel.readOutbound(as: HTTP2Frame.FramePayload.self) == nil)
        client.timedOut(now: client.deadline)
        let frame = try channel.readOutbound(as: HTTP2Frame.FramePayload.self)
        guard case .rstStream(.refusedStream) = frame else {
            Issue.record("\(String(describing: frame)) instead of a reset")
            return
        }
        #expect(try channel.readOutbound(as: HTTP2Frame.FramePayload.self) == nil)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }
}
