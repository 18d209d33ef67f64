import Contracts
import NIOCore

/// A response that the gateway gives by itself.
struct LocalResponse {
    var status: Int
    /// Whole field lines.
    var fields = ""
    var contentType = "application/json"
    /// `nil`: none, and nothing said of its length (204, 304).
    var body: Body?

    enum Body {
        case text(String)
        /// Shared by all responses that have it: never copied.
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
    /// - Parameter requestID: of letters, digits, `-` and `_`.
    static func refusal(
        _ problem: Problem, as form: ErrorForm, requestID: [UInt8], fields: String = ""
    ) -> LocalResponse {
        var response: LocalResponse
        let retryAfter: Int?
        // Nothing here needs escaping: the sentences are Gatehouse's own.
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

    /// Writes its head, and its body where that is a text: a document comes after it, see ``document(toHead:)``.
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
