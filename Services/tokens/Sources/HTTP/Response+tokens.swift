import HTTPTypes
import Hummingbird
import NIOCore

extension HTTPField.Name {
    fileprivate static let pragma = HTTPField.Name("Pragma")!
}

extension Response {
    /// An answer that holds tokens: nobody may keep it, old proxies included (RFC 6749 §5.1).
    static func tokens(_ json: String) -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store", .pragma: "no-cache"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: json)))
    }
}
