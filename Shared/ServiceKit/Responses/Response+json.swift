import Contracts
public import HTTPTypes
import Hummingbird
public import HummingbirdCore
import NIOCore

extension Response {
    /// A JSON answer.
    ///
    /// - Parameter holdsToken: forbids every cache to keep it; needed where a token or other secret stands in it, or
    ///   what is true for the moment only.
    public static func json(
        _ value: some Encodable, status: HTTPResponse.Status = .ok, holdsToken: Bool = false
    ) throws -> Response {
        let body = try JSON.encode(value)
        var headers = HTTPFields()
        headers.reserveCapacity(6)
        headers[.contentType] = "application/json"
        if holdsToken { headers[.cacheControl] = "no-store" }
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }

    /// An answer without a body.
    public static func empty(_ status: HTTPResponse.Status = .noContent) -> Response {
        Response(status: status)
    }
}
