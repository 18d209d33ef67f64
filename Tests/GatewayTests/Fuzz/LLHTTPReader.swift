import Foundation
import NIOCore
import NIOEmbedded
import NIOHTTP1

/// Reads messages with llhttp, the parser inside NIO and of many a service behind the gateway.
enum LLHTTPReader {
    static func requests(_ bytes: [UInt8]) throws(Finding) -> [HTTPMessage] {
        let channel = EmbeddedChannel(
            handler: ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)))
        defer { _ = try? channel.finish() }
        _ = try? channel.writeInbound(ByteBuffer(bytes: bytes))
        var messages: [HTTPMessage] = []
        while let part = try next(HTTPServerRequestPart.self, of: channel) {
            switch part {
            case .head(let head):
                messages.append(
                    HTTPMessage(start: "\(head.method.rawValue) \(head.uri)", fields: fields(head.headers)))
            case .body(let data): messages[messages.count - 1].body += Array(buffer: data)
            case .end: messages[messages.count - 1].isComplete = true
            }
        }
        return messages
    }

    static func responses(_ bytes: [UInt8]) throws(Finding) -> [HTTPMessage] {
        let channel = EmbeddedChannel(
            handler: ByteToMessageHandler(HTTPResponseDecoder(leftOverBytesStrategy: .dropBytes)))
        defer { _ = try? channel.finish() }
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")
        _ = try? channel.writeOutbound(HTTPClientRequestPart.head(head))
        _ = try? channel.writeInbound(ByteBuffer(bytes: bytes))
        var messages: [HTTPMessage] = []
        while let part = try next(HTTPClientResponsePart.self, of: channel) {
            switch part {
            case .head(let head):
                messages.append(HTTPMessage(start: "\(head.status.code)", fields: fields(head.headers)))
            case .body(let data): messages[messages.count - 1].body += Array(buffer: data)
            case .end: messages[messages.count - 1].isComplete = true
            }
        }
        return messages
    }

    private static func next<Part>(_ type: Part.Type, of channel: EmbeddedChannel) throws(Finding) -> Part? {
        do {
            return try channel.readInbound(as: type)
        } catch {
            throw Finding("llhttp's decoder gave what it should not: \(error)")
        }
    }

    /// NIO leaves some white space at the end of values.
    private static func fields(_ headers: HTTPHeaders) -> [String] {
        headers.map { "\($0.name):\($0.value.trimmingCharacters(in: .whitespaces))" }
    }
}
