import HTTPTypes
import Hummingbird
import NIOCore

extension Response {
    /// An answer that holds tokens: nobody may keep it (RFC 6749 §5.1).
    static func tokens(_ json: String) -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: json)))
    }
}
