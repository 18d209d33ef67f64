public import AsyncHTTPClient
import Foundation
public import GatehouseLimits
import GatehouseObservability
import Hummingbird
import HummingbirdCore
import NIOHTTP1
import Tracing

extension HTTPClient {
    /// Calls ``exchange(_:upTo:before:)`` with a span in the trace of the current request, if that trace is recorded.
    /// The trace is not propagated to the callee.
    ///
    /// - Parameter peer: the callee's name, in a word. The address must be a setting that is the same for each request.
    public func exchange(
        _ request: HTTPClientRequest, with peer: String, upTo limit: Int, before deadline: Deadline
    ) async throws -> WholeAnswer {
        try await withCallSpan(request.method.rawValue, of: peer, at: request.url, hasFixedPath: true) {
            try await exchange(request, upTo: limit, before: deadline)
        }
    }
}

/// Makes a call in a span of the current trace, if that trace is recorded. A call that is answered with 4xx or 5xx has
/// failed, whichever side is the cause.
///
/// - Parameter hasFixedPath: whether the path of `url` is the same for each request.
func withCallSpan(
    _ method: String, of peer: String, at url: String, hasFixedPath: Bool = false, call: () async throws -> WholeAnswer
) async throws -> WholeAnswer {
    guard ServiceContext.current?.isRecorded == true else { return try await call() }
    return try await withSpan("\(method) \(peer)", ofKind: .client) { span in
        span.record(.method(method), .peer(peer))
        let url = URL(string: url)
        if let host = url?.host() { span.record(.server(host)) }
        if let port = url?.port { span.record(.serverPort(port)) }
        if hasFixedPath, let path = url?.path { span.record(.urlTemplate(path)) }
        do {
            let answer = try await call()
            span.record(.status(answer.status))
            if answer.status >= 400 { span.fail(String(answer.status)) }
            return answer
        } catch let error as HTTPClientError where error == .deadlineExceeded {
            span.fail("timeout")
            throw error
        }
    }
}

extension RecordingSpan {
    /// Ends the span of an answered request. A wrong request is not an error of the server.
    func end(serving request: Request, _ context: GatehouseRequestContext, status: Int) {
        let method = request.method.rawValue
        operationName = FinishedSpan.Attribute.nameOfMethod(method)
        record(.method(method), .status(status), .caller(context.caller ?? "none"))
        if let route = context.coreContext.endpointPath.value, route != RoutingResponder.notFoundRoute {
            operationName += " " + route
            record(.route(route))
        }
        if status >= 500 { fail(String(status)) }
        end()
    }
}
