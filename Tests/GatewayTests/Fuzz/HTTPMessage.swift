import NIOCore

@testable import GatewayService

/// A message as some parser reads it.
struct HTTPMessage: Equatable {
    /// Method and target of a request, status of an answer.
    var start: String
    /// Each as `name:value`.
    var fields: [String]
    var body: [UInt8] = []
    var isComplete = false

    /// - Parameter theirs: what llhttp makes of the same bytes.
    /// - Throws: when the two would not agree on what was said and where the next message begins.
    static func compare(_ ours: [HTTPMessage], _ theirs: [HTTPMessage], _ bytes: [UInt8]) throws(Finding) {
        var text: String { String(decoding: bytes, as: UTF8.self).debugDescription }
        try Finding.unless(
            theirs.count >= ours.count, "llhttp read \(theirs.count) messages, we \(ours.count): \(text)")
        for (one, other) in zip(ours, theirs) {
            try Finding.unless(
                one.start == other.start && one.fields == other.fields, "llhttp read \(other), we \(one): \(text)")
            if one.isComplete {
                try Finding.unless(one.body == other.body && other.isComplete, "bodies differ: \(text)")
            } else {
                try Finding.unless(
                    other.body.starts(with: one.body) || one.body.starts(with: other.body), "bodies differ: \(text)")
            }
        }
    }
}

/// Reads messages with the gateway's own scanners.
enum OurReader {
    static func requests(_ bytes: [UInt8]) -> [(message: HTTPMessage, head: RequestHead, bytes: [UInt8])] {
        var messages: [(message: HTTPMessage, head: RequestHead, bytes: [UInt8])] = []
        var input = ByteBuffer(bytes: bytes)
        while input.readableBytes > 0 {
            var head = RequestHead()
            let rest = Array(buffer: input)
            guard let length = try? rest.withUnsafeBytes({ try head.scan($0) }) else { break }
            // No route has a method that we do not know: such a request is answered 405 and its connection's next
            // request is read by us alone.
            guard head.method != nil else { break }
            input.moveReaderIndex(forwardBy: length)
            var message = HTTPMessage(
                start: String(decoding: rest[..<(head.target.upperBound)], as: UTF8.self),
                fields: fields(head.fields, rest))
            readBody(head.framing, from: &input, into: &message)
            messages.append((message, head, Array(rest[..<length])))
            // What follows is another protocol's, or nothing.
            guard message.isComplete, !head.fields.hasCloseOption, !asksForUpgrade(head.fields, rest) else { break }
        }
        return messages
    }

    static func response(_ bytes: [UInt8]) -> HTTPMessage? {
        var head = ResponseHead()
        guard let length = try? bytes.withUnsafeBytes({ try head.scan($0) }), head.status >= 200 else { return nil }
        var input = ByteBuffer(bytes: bytes[length...])
        var message = HTTPMessage(start: "\(head.status)", fields: fields(head.fields, bytes))
        readBody(head.framing(toHead: false), from: &input, into: &message)
        return message
    }

    /// llhttp takes the next bytes for another protocol's; the gateway upgrades nothing and reads on.
    private static func asksForUpgrade(_ section: FieldSection, _ bytes: [UInt8]) -> Bool {
        section.lines.contains { String(decoding: bytes[$0.nameRange], as: UTF8.self).lowercased() == "upgrade" }
    }

    private static func fields(_ section: FieldSection, _ bytes: [UInt8]) -> [String] {
        section.lines.map {
            let name = String(decoding: bytes[$0.nameRange], as: UTF8.self)
            return "\(name):\(String(decoding: bytes[$0.value], as: UTF8.self))"
        }
    }

    private static func readBody(
        _ framing: BodyFraming, from input: inout ByteBuffer, into message: inout HTTPMessage
    ) {
        var reader = BodyReader(framing)
        while let part = try? reader.next(from: &input) {
            switch part {
            case .data(let data): message.body += Array(buffer: data)
            case .end:
                message.isComplete = true
                return
            }
        }
    }
}
