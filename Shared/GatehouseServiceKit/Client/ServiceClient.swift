public import AsyncHTTPClient
public import Foundation
public import GatehouseLimits
import GatehouseObservability
public import GatehouseServiceContracts
public import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOPosix
import Tracing

/// Calls another of Gatehouse's services.
///
/// Sends the caller's credential, the request's identifier, its trace and the rest of the current deadline
/// (`Deadline.current`). A call is retried once, at another replica if one exists, only if nothing was sent or the call
/// is idempotent. A failed call is `UNAVAILABLE`, never a refusal: after a refusal the client would refresh, and then
/// report that the user has to sign in.
public struct ServiceClient: Sendable {
    /// The default timeout of a call: slightly longer than the callee's timeout for PostgreSQL, so that a stopped
    /// callee is detected within two seconds.
    public let timeout: Duration
    /// The most bytes of a response.
    public static let maximumResponseBytes = 4 << 20

    private let callee: String
    private let credential: String
    private let httpClient: HTTPClient
    private let replicas: Replicas

    /// - Parameters:
    ///   - callee: the callee's name in logs and errors.
    ///   - urls: the replicas' addresses.
    ///   - credential: this caller's credential.
    ///   - dependencyTimeout: the callee's own timeout for its dependencies.
    public init(
        callee: String, urls: [URL], credential: String, httpClient: HTTPClient,
        dependencyTimeout: Duration = Deadline.defaultDatabaseTimeout
    ) {
        timeout = dependencyTimeout + .milliseconds(300)
        self.callee = callee
        self.credential = credential
        self.httpClient = httpClient
        replicas = Replicas(urls)
    }

    /// Calls and decodes the answer.
    ///
    /// - Parameters:
    ///   - query: names and values, not yet encoded.
    ///   - timeout: the longest time for the call, in place of ``timeout``. The current deadline may be earlier.
    ///   - idempotent: whether a call with an unknown outcome may be retried; by default, if the method is idempotent.
    /// - Throws: ``ServiceClientError``: the callee's refusal, or `UNAVAILABLE`.
    public func send<Response: Decodable>(
        _ method: HTTPRequest.Method, _ path: String, body: (any Encodable & Sendable)? = nil,
        query: [(String, String)] = [], timeout: Duration? = nil, idempotent: Bool? = nil,
        as type: Response.Type = Response.self
    ) async throws(ServiceClientError) -> Response {
        try decode(await call(method, path, .json(body), query, timeout, idempotent))
    }

    /// As the other overload, for a call whose response is not used.
    public func send(
        _ method: HTTPRequest.Method, _ path: String, body: (any Encodable & Sendable)? = nil,
        query: [(String, String)] = [], timeout: Duration? = nil, idempotent: Bool? = nil
    ) async throws(ServiceClientError) {
        _ = try await call(method, path, .json(body), query, timeout, idempotent)
    }

    /// Posts a form, and decodes the answer.
    ///
    /// - Parameters:
    ///   - form: names and values, not yet encoded.
    ///   - authorization: the value of `Authorization`, for a route that does not accept Gatehouse's credential.
    ///   - idempotent: whether a call with an unknown outcome may be retried.
    /// - Throws: as the other overload. An OAuth error counts as an unavailable callee.
    public func post<Response: Decodable>(
        form: [(String, String)], to path: String, authorization: String? = nil, idempotent: Bool = false,
        as type: Response.Type = Response.self
    ) async throws(ServiceClientError) -> Response {
        let body = CallBody.form(FormBody.encode(form), authorization: authorization)
        return try decode(await call(.post, path, body, [], nil, idempotent))
    }

    private func decode<Response: Decodable>(
        _ answer: (status: Int, body: [UInt8])
    ) throws(ServiceClientError) -> Response {
        do {
            return try StrictJSON.decode(Response.self, from: answer.body)
        } catch {
            throw .unavailable(
                "\(callee) gave an answer that cannot be read: \(error.errors.map(\.field))", mayHaveActed: true)
        }
    }

    // MARK: Attempts

    private func call(
        _ method: HTTPRequest.Method, _ path: String, _ body: CallBody,
        _ query: [(String, String)], _ timeout: Duration?, _ idempotent: Bool?
    ) async throws(ServiceClientError) -> (status: Int, body: [UInt8]) {
        let timeout = timeout ?? self.timeout
        let deadline = Deadline.current?.capped(at: timeout) ?? .after(timeout)
        let target = query.isEmpty ? path : path + "?" + FormBody.encode(query)
        var call = Call(method: method.rawValue, target: target)
        do {
            (call.fields, call.body) = try body.encoded()
        } catch {
            throw .unavailable("a request to \(callee) cannot be encoded", mayHaveActed: false)
        }
        let mayRepeat = idempotent ?? [.get, .head, .put, .delete].contains(method)
        // If a second attempt may follow an unanswered first one, each gets half of the time.
        let first = mayRepeat && replicas.count > 1 ? deadline.capped(at: deadline.remaining / 2) : deadline
        let (outcome, replica) = await attempt(call, deadline: first, avoiding: nil)
        let firstWasSent: Bool
        switch outcome {
        case .answer(let status, let body): return try interpret(status, body)
        case .failure(let reason, let wasSent):
            guard !wasSent || mayRepeat, !deadline.hasPassed else { throw .unavailable(reason, mayHaveActed: wasSent) }
            firstWasSent = wasSent
        }
        switch await attempt(call, deadline: deadline, avoiding: replica).outcome {
        case .answer(let status, let body): return try interpret(status, body)
        case .failure(let reason, let wasSent): throw .unavailable(reason, mayHaveActed: wasSent || firstWasSent)
        }
    }

    private struct Call {
        var method: String
        var target: String
        /// The header fields of this request only.
        var fields: [(String, String)] = []
        var body: Data?
    }

    private enum Outcome {
        case answer(status: Int, body: [UInt8])
        case failure(reason: String, wasSent: Bool)
    }

    private func attempt(
        _ call: Call, deadline: Deadline, avoiding previous: Int?
    ) async -> (outcome: Outcome, replica: Int?) {
        guard let replica = replicas.acquire(avoiding: previous) else {
            return (.failure(reason: "\(callee) has no address", wasSent: false), nil)
        }
        do {
            let answer = try await withCallSpan(call.method, of: callee, at: replica.base) {
                let request = makeRequest(call, at: replica.base, deadline: deadline)
                return try await httpClient.exchange(request, upTo: Self.maximumResponseBytes, before: deadline)
            }
            replicas.release(replica.index, answer.status == 503 ? .failed : .succeeded)
            return (.answer(status: answer.status, body: Array(buffer: answer.body)), replica.index)
        } catch {
            replicas.release(replica.index, error is CancellationError ? .cancelled : .failed)
            let reason = "\(callee) at \(replica.base): \(error)"
            return (.failure(reason: reason, wasSent: !Self.isConnectFailure(error)), replica.index)
        }
    }

    /// The request of a call, as part of the current request and trace.
    private func makeRequest(_ call: Call, at base: String, deadline: Deadline) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: base + call.target)
        request.method = .init(rawValue: call.method)
        let context = ServiceContext.current
        request.headers = HTTPHeaders([
            (HeaderName.credential, credential), (HeaderName.deadline, String(deadline.milliseconds)),
            (HeaderName.traceparent, (context?.traceContext ?? TraceContext()).traceparent),
        ])
        if let id = context?.requestID { request.headers.add(name: HeaderName.internalRequestID, value: id) }
        request.headers.add(contentsOf: call.fields)
        if let body = call.body { request.body = .bytes(ByteBuffer(bytes: body)) }
        return request
    }

    // MARK: Answers

    private func interpret(
        _ status: Int, _ body: [UInt8]
    ) throws(ServiceClientError) -> (status: Int, body: [UInt8]) {
        if (200..<300).contains(status) { return (status, body) }
        guard let problem = (try? StrictJSON.decode(ProblemDocument.self, from: body))?.problem,
            problem.code.status == status, Self.refusals.contains(problem.code)
        else {
            throw .unavailable("\(callee) answered \(status)", mayHaveActed: true)
        }
        throw .problem(problem)
    }

    /// The callee's refusals that are passed to the client. All other errors (a credential that is not accepted, a
    /// missing route) are failures between services.
    private static let refusals: Set<ErrorCode> = [
        .invalidRequest, .invalidCredentials, .invalidRefreshToken, .invalidAppleToken, .accountDisabled, .notFound,
        .identifierTaken, .idempotencyKeyReused, .weakPassword, .rateLimited,
    ]

    /// Whether the connection was never established, so that the callee cannot have acted.
    private static func isConnectFailure(_ error: any Error) -> Bool {
        if error is NIOConnectionError { return true }
        guard let error = error as? HTTPClientError else {
            return (error as? IOError)?.errnoCode == ECONNREFUSED
        }
        return [.connectTimeout, .getConnectionFromPoolTimeout].contains(error)
    }
}

extension ServiceClient: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Omits the credential, which must not be logged.
    public var description: String { "ServiceClient(callee: \(callee))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["callee": callee]) }
}

/// The body of a call to another service.
enum CallBody {
    /// `nil` sends nothing.
    case json((any Encodable & Sendable)?)
    /// - Parameter authorization: the value of `Authorization`.
    case form(String, authorization: String?)

    /// The body's header fields and bytes.
    func encoded() throws -> (fields: [(String, String)], body: Data?) {
        switch self {
        case .json(nil): return ([], nil)
        case .json(let value?): return ([("Content-Type", "application/json")], try JSON.encode(value))
        case .form(let text, let authorization):
            let fields = [("Content-Type", "application/x-www-form-urlencoded")]
            return (fields + (authorization.map { [("Authorization", $0)] } ?? []), Data(text.utf8))
        }
    }
}

/// Why a call to another service failed.
public struct ServiceClientError: Error, Sendable, ProblemConvertible, CustomStringConvertible {
    enum Kind: Sendable {
        case problem
        case unavailable(reason: String, mayHaveActed: Bool)
    }

    let kind: Kind
    /// The problem for the client: the callee's own refusal, or `UNAVAILABLE`.
    public let problem: Problem

    /// Whether the callee could not be reached, or sent an unexpected response, and did not refuse.
    public var isUnavailable: Bool {
        if case .unavailable = kind { true } else { false }
    }

    /// Whether the callee may have acted: the request was sent, and no refusal came back.
    public var mayHaveActed: Bool {
        if case .unavailable(_, let mayHaveActed) = kind { mayHaveActed } else { false }
    }

    /// The error for a refusal by the callee.
    static func problem(_ problem: Problem) -> Self {
        ServiceClientError(kind: .problem, problem: problem)
    }

    /// The same failure for a client that must not see the callee's refusal: it receives `UNAVAILABLE`.
    public var hidingRefusal: Self {
        isUnavailable ? self : .unavailable(description, mayHaveActed: false)
    }

    /// - Parameter reason: for the log.
    static func unavailable(_ reason: String, mayHaveActed: Bool) -> Self {
        ServiceClientError(
            kind: .unavailable(reason: reason, mayHaveActed: mayHaveActed), problem: Problem(.unavailable))
    }

    public var description: String {
        switch kind {
        case .problem: "refused: \(problem.code.rawValue)"
        case .unavailable(let reason, _): "unavailable: \(reason)"
        }
    }
}
