import Foundation
public import HTTPTypes
public import Hummingbird
import NIOCore

/// A document that changes rarely. A client that has it already gets 304 (RFC 9110 §13.1.2).
public struct TaggedDocument: Sendable {
    private let body: ByteBuffer
    private let fields: HTTPFields
    private let entityTag: String

    /// - Parameters:
    ///   - fields: sent with the document and with 304, except `Content-Type`, which 304 does not have.
    ///   - tag: differs for each content; without quotes.
    public init(_ body: [UInt8], tag: String, fields: HTTPFields) {
        self.body = ByteBuffer(bytes: body)
        entityTag = "\"\(tag)\""
        self.fields = fields
    }

    public func response(to request: Request) -> Response {
        var fields = fields
        fields[.eTag] = entityTag
        let known = request.headers[values: .ifNoneMatch].flatMap { $0.split(separator: ",") }
        if known.contains(where: { isSame($0.trimmingCharacters(in: .whitespaces)) }) {
            fields[.contentType] = nil
            return Response(status: .notModified, headers: fields)
        }
        return Response(status: .ok, headers: fields, body: ResponseBody(byteBuffer: body))
    }

    /// The comparison is weak.
    private func isSame(_ tag: String) -> Bool {
        tag == "*" || tag == entityTag || tag == "W/" + entityTag
    }
}
