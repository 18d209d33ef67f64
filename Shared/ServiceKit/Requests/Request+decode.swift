import Contracts
import Foundation
import HTTPTypes
import Hummingbird
public import HummingbirdCore
public import NIOCore

extension Request {
    /// Reads the body as JSON, strictly: UTF-8 without byte-order mark, no key twice, nothing after the value, no
    /// NUL, no nesting deeper than 16. Unknown keys are ignored, and `null` is as if absent.
    ///
    /// An empty body reads as `{}` and needs no media type.
    ///
    /// - Parameter limit: bytes.
    /// - Throws: `INVALID_REQUEST` with the field that is wrong, `UNSUPPORTED_MEDIA_TYPE`, `PAYLOAD_TOO_LARGE`.
    public func decode<Value: Decodable>(_ type: Value.Type, limit: Int = BodyLimit.bytes) async throws -> Value {
        let body = try await collectBody(limit: limit)
        guard body.readableBytes > 0 else { return try StrictJSON.decode(type, from: Array("{}".utf8)) }
        guard MediaType(headers[.contentType])?.isJSON == true else { throw Problem(.unsupportedMediaType) }
        return try StrictJSON.decode(type, from: Array(buffer: body))
    }

    /// Reads the body as a form (`application/x-www-form-urlencoded`), as OAuth's endpoints take it.
    ///
    /// - Throws: as ``decode(_:limit:)``; a parameter that stands twice is refused (RFC 6749 §3.2).
    public func decodeForm(limit: Int = BodyLimit.bytes) async throws -> FormParameters {
        let body = try await collectBody(limit: limit)
        guard MediaType(headers[.contentType])?.isForm == true else { throw Problem(.unsupportedMediaType) }
        return try FormBody.parse(Array(buffer: body))
    }

    /// The whole body.
    ///
    /// - Throws: `PAYLOAD_TOO_LARGE`, where a length is declared before anything is read.
    public func collectBody(limit: Int = BodyLimit.bytes) async throws -> ByteBuffer {
        if let length = headers[.contentLength].flatMap({ Int($0) }), length > limit {
            throw Problem(.payloadTooLarge)
        }
        do {
            return try await body.collect(upTo: limit)
        } catch is NIOTooManyBytesError {
            throw Problem(.payloadTooLarge)
        } catch let error where !(error is CancellationError) {
            // Framing that is no HTTP, or a client that has gone.
            throw Problem(.invalidRequest, "The request's body could not be read.")
        }
    }
}

/// The cap on bodies of Gatehouse's own routes.
public enum BodyLimit {
    /// 64 KiB.
    public static let bytes = 65_536
}

/// A `Content-Type` of a request, as far as it matters here (RFC 9110 §8.3.1).
struct MediaType {
    private let essence: String
    private let isUTF8: Bool

    /// In bytes. Ours have 50 at most with their parameter.
    private static let maximumLength = 256

    init?(_ field: String?) {
        guard let field, field.utf8.count <= Self.maximumLength else { return nil }
        // What nearly all send.
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
