public import AsyncHTTPClient
import Foundation
import Hummingbird
import HummingbirdCore
public import Limits
import NIOHTTP1
import Observability

extension HTTPClient {
    /// Calls ``exchange(_:upTo:before:)`` with a span in the trace of the current request, if that trace is recorded.
    /// The trace is not propagated to the callee.
    ///
    /// - Parameter peer: the callee's name, in a word. The address must be a setting that is the same for each request.
    public func exchange(
        _ request: HTTPClientRequest, with peer: String, upTo limit: Int, before deadline: Deadline
    ) async throws -> WholeAnswer {
        guard let span = SpanRecording.client("\(request.method.rawValue) \(peer)") else {
            return try await exchange(request, upTo: limit, before: deadline)
        }
        let url = URL(string: request.url)
        let attributes: [SpanAttribute] = .ofCall(
            request.method.rawValue, of: peer, at: request.url, template: url?.path)
        do {
            let answer = try await exchange(request, upTo: limit, before: deadline)
            span.end(answeredWith: answer.status, attributes)
            return answer
        } catch {
            span.end(failedWith: error, attributes)
            throw error
        }
    }
}

extension [SpanAttribute] {
    /// The attributes of a call that are known before it is made.
    ///
    /// - Parameter template: the path, if it is the same for each request.
    static func ofCall(_ method: String, of peer: String, at url: String, template: String? = nil) -> [SpanAttribute] {
        let parts = URL(string: url)
        return [.method(method), .peer(peer)]
            + (parts?.host().map { [.server($0)] } ?? []) + (parts?.port.map { [.serverPort($0)] } ?? [])
            + (template.map { [.urlTemplate($0)] } ?? [])
    }
}

extension SpanRecording {
    /// In a client span, 4xx and 5xx both count as errors: the call has failed, whichever side is the cause.
    func end(answeredWith status: Int, _ attributes: [SpanAttribute]) {
        end(attributes + [.status(status)], error: status >= 400 ? String(status) : nil)
    }

    /// Records only the error's type, because its text may contain request data.
    func end(failedWith error: any Error, _ attributes: [SpanAttribute]) {
        if (error as? HTTPClientError) == .deadlineExceeded { return end(attributes, error: "timeout") }
        end(attributes, error: error is CancellationError ? "cancelled" : String(describing: type(of: error)))
    }
}

extension Span {
    /// The span of an answered request, which begins when its head was read.
    init(serving request: Request, _ context: GatehouseRequestContext, status: Int) {
        let method = request.method.rawValue
        var attributes: [SpanAttribute] = [
            .requestID(context.requestID), .method(method), .status(status), .caller(context.caller ?? "none"),
        ]
        var name = SpanAttribute.nameOfMethod(method)
        if let route = context.coreContext.endpointPath.value, route != RoutingResponder.notFoundRoute {
            attributes.append(.route(route))
            name += " " + route
        }
        // A wrong request is not an error of the server.
        let isError = status >= 500
        if isError { attributes.append(.errorType(String(status))) }
        self.init(
            traceID: context.trace.traceID, spanID: context.trace.spanID, parentSpanID: context.parentSpanID,
            name: name, kind: .server, time: .endingNow(since: context.readAt), attributes: attributes,
            isError: isError)
    }
}
