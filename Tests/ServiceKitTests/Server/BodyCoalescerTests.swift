import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import TestKit
import Testing

@testable import GatehouseServiceKit

@Suite struct BodyCoalescerTests {
    private struct Cut: Error {}

    private let head = HTTPRequest(method: .post, scheme: "http", authority: "a", path: "/")

    private func body(_ text: String) -> HTTPRequestPart { .body(ByteBuffer(string: text)) }

    private func parts(of channel: EmbeddedChannel) throws -> [HTTPRequestPart] {
        var parts: [HTTPRequestPart] = []
        while let part = try channel.readInbound(as: HTTPRequestPart.self) { parts.append(part) }
        return parts
    }

    @Test func makesOnePieceOfWhatOneReadBrought() throws {
        let channel = EmbeddedChannel(handler: BodyCoalescer())
        channel.pipeline.fireChannelRead(HTTPRequestPart.head(head))
        for letter in "abc" { channel.pipeline.fireChannelRead(body(String(letter))) }
        #expect(try parts(of: channel) == [.head(head)])
        channel.pipeline.fireChannelReadComplete()
        #expect(try parts(of: channel) == [body("abc")])
        for letter in "def" { channel.pipeline.fireChannelRead(body(String(letter))) }
        channel.pipeline.fireChannelRead(HTTPRequestPart.end(nil))
        channel.pipeline.fireChannelRead(HTTPRequestPart.head(head))
        channel.pipeline.fireChannelRead(body("g"))
        channel.pipeline.fireChannelReadComplete()
        channel.pipeline.fireChannelReadComplete()
        #expect(try parts(of: channel) == [body("def"), .end(nil), .head(head), body("g")])
        _ = try channel.finish()
    }

    @Test func losesNothingBeforeAnErrorOrTheEnd() throws {
        let channel = EmbeddedChannel(handler: BodyCoalescer())
        channel.pipeline.fireChannelRead(body("ab"))
        channel.pipeline.fireErrorCaught(Cut())
        #expect(throws: Cut.self) { try channel.throwIfErrorCaught() }
        #expect(try parts(of: channel) == [body("ab")])
        channel.pipeline.fireChannelRead(body("cd"))
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(try parts(of: channel) == [body("cd")])
        channel.pipeline.fireChannelRead(body("ef"))
        channel.pipeline.fireChannelInactive()
        #expect(try parts(of: channel) == [body("ef")])
        _ = try channel.finish()
    }

    /// A piece that is still being read elsewhere is not written to.
    @Test func leavesWhatWasReadAsItIs() throws {
        let channel = EmbeddedChannel(handler: BodyCoalescer())
        let read = ByteBuffer(string: "abcdef")
        let (first, second) = (
            try #require(read.getSlice(at: 0, length: 2)), try #require(read.getSlice(at: 4, length: 2))
        )
        channel.pipeline.fireChannelRead(HTTPRequestPart.body(first))
        channel.pipeline.fireChannelRead(HTTPRequestPart.body(second))
        channel.pipeline.fireChannelReadComplete()
        #expect(try parts(of: channel) == [body("abef")])
        #expect(String(buffer: read) == "abcdef")
        _ = try channel.finish()
    }

    /// Through a socket, with a body that begins, goes on and ends in the middle of reads.
    @Test func aBodyInChunksOfOneByteArrivesWhole() async throws {
        try await withService(EchoApplication.self, settings: echoSettings) { service in
            let text = String((0..<50_000).map { Character(Unicode.Scalar(UInt8(97 + $0 % 26))) })
            let json = #"{"text":"\#(text)"}"#
            let chunks = json.utf8.map { "1\r\n\(Character(Unicode.Scalar($0)))\r\n" }
            let head = "POST /v1/echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nConnection: close\r\n"
            let message = head + "Transfer-Encoding: chunked\r\n\r\n" + chunks.joined() + "0\r\n\r\n"
            let (answer, isClosed) = try await rawExchange(service.url, [message], timeout: .seconds(60))
            #expect(answer.hasPrefix("HTTP/1.1 201 "), "\(answer.prefix(300))")
            #expect(answer.hasSuffix(json))
            #expect(isClosed)
        }
    }
}
