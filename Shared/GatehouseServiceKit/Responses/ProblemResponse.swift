import Foundation
import GatehouseBytes
public import GatehouseServiceContracts
public import HTTPTypes
import Hummingbird
public import HummingbirdCore
import NIOCore
import Synchronization

/// Converts every error to a response.
enum ProblemResponse {
    /// - Returns: the response, and whether the error was unforeseen.
    static func make(for error: any Error, requestID: String) -> (response: Response, isUnforeseen: Bool) {
        if let methodNotAllowed = error as? MethodNotAllowed {
            var response = make(Problem(.methodNotAllowed), requestID: requestID)
            response.headers[.allow] = methodNotAllowed.allow
            return (response, false)
        }
        let problem = Problem(for: error)
        return (make(problem, requestID: requestID), problem.code == .internal)
    }

    static func make(_ problem: Problem, requestID: String) -> Response {
        let (headers, body) = parts(problem, requestID: requestID)
        return Response(
            status: .init(code: problem.code.status), headers: headers, body: ResponseBody(byteBuffer: body))
    }

    /// The fields and the body of the response.
    static func parts(_ problem: Problem, requestID: String) -> (headers: HTTPFields, body: ByteBuffer) {
        // A document of only strings and numbers always encodes.
        let body = (try? JSON.encode(ProblemDocument(problem, requestID: requestID))) ?? .init()
        var headers = HTTPFields()
        headers[.contentType] = "application/problem+json"
        headers[.cacheControl] = "no-store"
        if let retryAfter = problem.retryAfter {
            headers[.retryAfter] = String(retryAfter)
        }
        if let challenge = problem.bearerChallenge {
            headers[.wwwAuthenticate] = challenge
        }
        if problem.code == .payloadTooLarge {
            // The rest of the body is not read.
            headers[.connection] = "close"
        }
        return (headers, ByteBuffer(bytes: body))
    }
}

extension Problem {
    /// The problem that the client receives for an error: `INTERNAL` for an unforeseen one.
    public init(for error: any Error) {
        self =
            switch error {
            case let error as any ProblemConvertible: error.problem
            case let error as HTTPError: Problem(Self.code(for: error.status))
            case is CancellationError: Problem(.unavailable)
            default: Problem(.internal)
            }
    }

    /// The code for an error that Hummingbird itself throws.
    private static func code(for status: HTTPResponse.Status) -> ErrorCode {
        switch status.code {
        case 404: .notFound
        case 405: .methodNotAllowed
        case 413: .payloadTooLarge
        case 414: .targetTooLong
        case 415: .unsupportedMediaType
        case 431: .headersTooLarge
        case 400..<500: .invalidRequest
        default: .unavailable
        }
    }
}

/// An error that can be converted to a problem for the client.
public protocol ProblemConvertible: Error {
    var problem: Problem { get }
}

extension Problem: ProblemConvertible {
    public var problem: Problem { self }
}

extension Response {
    /// A JSON response.
    ///
    /// - Parameter holdsToken: forbids every cache to store the response. Needed if it contains a token or another
    ///   secret, or a state that may change at any time.
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

    /// A response without a body.
    public static func empty(_ status: HTTPResponse.Status = .noContent) -> Response {
        Response(status: status)
    }
}

/// The `Date` field, written once a second.
final class DateFieldCache: Sendable {
    private let cached = Mutex<(second: Int64, text: String)>((-1, ""))

    func now() -> String {
        let second = Int64(time(nil))
        return cached.withLock { cached in
            if cached.second != second {
                cached = (second, UTCTime(secondsSince1970: second).imfFixdate)
            }
            return cached.text
        }
    }
}
