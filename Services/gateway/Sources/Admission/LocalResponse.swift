import CGatewayDocuments
import Crypto
import Foundation
import GatehouseBytes
import GatehouseServiceContracts
import NIOCore

/// A response that the gateway gives by itself.
struct LocalResponse {
    var status: Int
    /// Whole field lines.
    var fields = ""
    var contentType = "application/json"
    /// `nil`: no body, and no field about its length (204, 304).
    var body: Body?

    enum Body {
        case text(String)
        /// Shared by all responses with this document, and never copied.
        case document(ByteBuffer)

        var count: Int {
            switch self {
            case .text(let text): text.utf8.count
            case .document(let bytes): bytes.readableBytes
            }
        }
    }

    /// A refusal in the form that a route's clients expect.
    ///
    /// - Parameter requestID: consists of letters, digits, `-` and `_`.
    static func refusal(
        _ problem: Problem, as form: ErrorForm, requestID: [UInt8], fields: String = ""
    ) -> LocalResponse {
        var response: LocalResponse
        let retryAfter: Int?
        // The messages are constants of Gatehouse, so nothing here needs escaping.
        switch form {
        case .problem:
            let code = problem.code
            retryAfter = problem.retryAfter
            response = LocalResponse(
                status: code.status, fields: fields, contentType: "application/problem+json",
                body: .text(
                    """
                    {"code":"\(code.rawValue)","detail":"\(problem.detail)",\
                    "requestId":"\(String(decoding: requestID, as: UTF8.self))","status":\(code.status),\
                    "title":"\(code.title)","type":"about:blank"}
                    """))
        case .oauth:
            let error = OAuthError(problem)
            retryAfter = error.retryAfter
            response = LocalResponse(
                status: error.status, fields: fields,
                body: .text(#"{"error":"\#(error.code)","error_description":"\#(error.description)"}"#))
        }
        if let retryAfter { response.fields += "Retry-After: \(retryAfter)\r\n" }
        response.fields += "Cache-Control: no-store\r\n"
        return response
    }

    func bodyBytes(toHead: Bool) -> Int { toHead ? 0 : body?.count ?? 0 }

    /// Writes the head, and the body if it is a text. A document is written after it, see ``document(toHead:)``.
    ///
    /// - Parameter date: the `Date` field as a whole line.
    func write(to buffer: inout ByteBuffer, requestID: [UInt8], isHead: Bool, closes: Bool, date: [UInt8]) {
        buffer.writeString("HTTP/1.1 \(status) \(Self.reason(status))\r\n")
        if let body {
            buffer.writeString("Content-Type: \(contentType)\r\nContent-Length: \(body.count)\r\n")
        }
        buffer.writeBytes(date)
        buffer.writeString("\(fields)\(HeaderName.requestID): ")
        buffer.writeBytes(requestID)
        buffer.writeString(closes ? "\r\nConnection: close\r\n\r\n" : "\r\n\r\n")
        if !isHead, case .text(let text) = body { buffer.writeString(text) }
    }

    func document(toHead: Bool) -> ByteBuffer? {
        guard !toHead, case .document(let bytes) = body else { return nil }
        return bytes
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 204: "No Content"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 417: "Expectation Failed"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        default: ""
        }
    }
}

extension PublicDocument {
    /// A file that is built into the gateway. All event loops share it.
    private struct File {
        let bytes: ByteBuffer
        let entityTag: String

        init(_ document: CGatewayDocument) {
            let bytes = UnsafeRawBufferPointer(start: document.bytes, count: document.count)
            self.bytes = ByteBuffer(bytes: bytes)
            entityTag = "\"\(Base64URL.string(SHA256.hash(data: bytes).prefix(16)))\""
        }
    }

    private static let openAPIFile = File(CGatewayOpenAPI)
    private static let pageFile = File(CGatewayPage)

    private var file: File {
        switch self {
        case .openAPI: Self.openAPIFile
        case .page: Self.pageFile
        }
    }

    var bytes: ByteBuffer { file.bytes }
    var entityTag: String { file.entityTag }

    /// Seconds for which clients may cache the document: a new version of the gateway may have another one.
    private static let maximumAge = 300

    /// - Parameter known: the value of `If-None-Match`.
    func response(to known: UnsafeRawBufferPointer?) -> LocalResponse {
        let fields = """
            ETag: \(entityTag)\r
            Cache-Control: public, max-age=\(Self.maximumAge)\r
            X-Content-Type-Options: nosniff\r
            \(self == .page ? Self.pageLines : "")
            """
        if let known, Self.names(known, entityTag) { return LocalResponse(status: 304, fields: fields) }
        return LocalResponse(
            status: 200, fields: fields, contentType: self == .page ? "text/html; charset=utf-8" : "application/json",
            body: .document(bytes))
    }

    /// The page loads and runs nothing. Its policy allows its one style element by hash.
    private static let pageLines: String = {
        guard let style = String(buffer: pageFile.bytes).firstMatch(of: /<style>([^<]*)<\/style>/)?.1 else {
            preconditionFailure("public.html has no style element")
        }
        let hash = Data(SHA256.hash(data: Data(style.utf8))).base64EncodedString()
        return """
            Content-Security-Policy: default-src 'none'; style-src 'sha256-\(hash)'; \
            base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r
            Referrer-Policy: no-referrer\r

            """
    }()

    /// Whether the list of `If-None-Match` contains the tag, by the weak comparison, or is `*` (RFC 9110 §13.1.2).
    static func names(_ list: UnsafeRawBufferPointer, _ tag: String) -> Bool {
        list.split(separator: UInt8(ascii: ",")).contains { item in
            var item = item
            while item.first == .space || item.first == .tab { item = item.dropFirst() }
            while item.last == .space || item.last == .tab { item = item.dropLast() }
            if item.elementsEqual("*".utf8) { return true }
            if item.starts(with: "W/".utf8) { item = item.dropFirst(2) }
            return item.elementsEqual(tag.utf8)
        }
    }
}

extension CORSPolicy {
    /// The lines of every response of the route.
    ///
    /// - Parameter origin: the request's origin; `nil` where it names none.
    func lines(for origin: String?) -> String {
        let vary = "Vary: Origin\r\n"
        guard let origin, allows(origin) else { return vary }
        let expose = exposed.isEmpty ? "" : "Access-Control-Expose-Headers: \(exposed.joined(separator: ", "))\r\n"
        return "Access-Control-Allow-Origin: \(shown(origin))\r\n\(expose)\(vary)"
    }

    /// The lines of the response to a preflight request.
    func preflightLines(for origin: String, methods: MethodSet) -> String {
        """
        Access-Control-Allow-Origin: \(shown(origin))\r
        Access-Control-Allow-Methods: \(methods.description)\r
        Access-Control-Allow-Headers: \(headers.joined(separator: ", "))\r
        Access-Control-Max-Age: \(maximumAge)\r
        Vary: Origin\r

        """
    }

    private func shown(_ origin: String) -> String { origins.contains("*") ? "*" : origin }
}
