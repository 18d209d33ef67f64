import Contracts
import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import Observability

/// The answers of `/livez` and `/readyz`.
enum HealthResponse {
    /// The process answers; nothing else is asked.
    static func live() -> Response {
        text(#"{"status":"live"}"#)
    }

    static func ready(_ readiness: Readiness) throws(Problem) -> Response {
        let failing = readiness.failing
        guard failing.isEmpty else {
            throw Problem(.unavailable, errors: failing.map { .init(field: $0, message: "This is not ready.") })
        }
        return text(#"{"status":"ready"}"#)
    }

    private static func text(_ json: String) -> Response {
        var headers = HTTPFields()
        headers[.contentType] = "application/json"
        headers[.cacheControl] = "no-store"
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: json)))
    }
}
