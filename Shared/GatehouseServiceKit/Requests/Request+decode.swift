import Foundation
public import GatehouseServiceContracts
import HTTPTypes
import Hummingbird
public import HummingbirdCore
public import NIOCore

extension Request {
    /// Decodes the body as strict JSON: UTF-8 without byte-order mark, no repeated keys, nothing after the value, no
    /// NUL, no nesting deeper than 16. Unknown keys are ignored, and `null` counts as absent.
    ///
    /// An empty body reads as `{}` and needs no media type.
    ///
    /// - Parameter limit: bytes.
    /// - Throws: `INVALID_REQUEST` with the invalid field, `UNSUPPORTED_MEDIA_TYPE`, `PAYLOAD_TOO_LARGE`.
    public func decode<Value: Decodable>(_ type: Value.Type, limit: Int = BodyLimit.bytes) async throws -> Value {
        try await decodeKeepingBody(type, limit: limit).value
    }

    /// As ``decode(_:limit:)``, with the bytes of the body.
    ///
    /// - Parameter check: is called with the body before a value is built.
    public func decodeKeepingBody<Value: Decodable>(
        _ type: Value.Type, limit: Int = BodyLimit.bytes, check: ([UInt8]) throws -> Void = { _ in }
    ) async throws -> (value: Value, body: [UInt8]) {
        let body = Array(buffer: try await collectBody(limit: limit))
        guard !body.isEmpty else { return (try StrictJSON.decode(type, from: Array("{}".utf8)), body) }
        guard MediaType(headers[.contentType])?.isJSON == true else { throw Problem(.unsupportedMediaType) }
        try check(body)
        return (try StrictJSON.decode(type, from: body), body)
    }

    /// Reads the body as a form (`application/x-www-form-urlencoded`), as OAuth's endpoints require.
    ///
    /// - Throws: as ``decode(_:limit:)``. A repeated parameter is refused (RFC 6749 §3.2).
    public func decodeForm(limit: Int = BodyLimit.bytes) async throws -> FormParameters {
        let body = try await collectBody(limit: limit)
        guard MediaType(headers[.contentType])?.isForm == true else { throw Problem(.unsupportedMediaType) }
        return try FormBody.parse(Array(buffer: body))
    }

    /// The whole body.
    ///
    /// - Throws: `PAYLOAD_TOO_LARGE`, before anything is read if the request declares its length.
    public func collectBody(limit: Int = BodyLimit.bytes) async throws -> ByteBuffer {
        if let length = headers[.contentLength].flatMap({ Int($0) }), length > limit {
            throw Problem(.payloadTooLarge)
        }
        do {
            return try await body.collect(upTo: limit)
        } catch is NIOTooManyBytesError {
            throw Problem(.payloadTooLarge)
        } catch let error where !(error is CancellationError) {
            // The framing is invalid, or the client has disconnected.
            throw Problem(.invalidRequest, "The request's body could not be read.")
        }
    }
}

/// The relevant parts of a request's `Content-Type` (RFC 9110 §8.3.1).
struct MediaType {
    private let essence: String
    private let isUTF8: Bool

    /// Bytes. The accepted media types have at most 50 with their parameter.
    private static let maximumLength = 256

    init?(_ field: String?) {
        guard let field, field.utf8.count <= Self.maximumLength else { return nil }
        // Fast path: nearly all clients send this.
        if field == "application/json" {
            (essence, isUTF8) = (field, true)
            return
        }
        let parts = field.split(separator: ";", omittingEmptySubsequences: false).map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        essence = parts[0].lowercased()
        isUTF8 = parts.dropFirst().allSatisfy { parameter in
            let pair = parameter.lowercased().split(separator: "=", maxSplits: 1)
            guard pair.first == "charset" else { return true }
            return pair.count == 2 && ["utf-8", "\"utf-8\""].contains(pair[1])
        }
    }

    var isJSON: Bool { essence == "application/json" && isUTF8 }
    var isForm: Bool { essence == "application/x-www-form-urlencoded" && isUTF8 }
}
