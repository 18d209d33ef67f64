import GatehouseServiceContracts
import Logging

/// Handles failures of the upstream and of the client.
extension Exchange {
    /// The upstream's connection has closed, or could not be made.
    func failed(_ failure: ExchangeMachine.Failure, _ retry: ExchangeMachine.Retry) {
        let connection = upstreamConnection
        upstreamConnection = nil
        if state.isFaultOfAddress(retry) {
            pool?.failed(.noResponse, now: worker.now)
        }
        connection?.abandon()
        let next = state.failed(
            retry, addresses: routeState.balancer?.count ?? 1, at: worker.now,
            takeRetry: { routeState.balancer?.takeRetry() ?? false })
        switch next {
        case .nothing: break
        case .retry: start()
        case .refuse: refuse(problem(for: failure), reason: failure.rawValue)
        case .abort:
            if state.phase == .responding {
                worker.gateway.logger.warning(
                    "answer cut short",
                    metadata: [
                        "route": "\(routeState.route.name)", "reason": "\(failure.rawValue)",
                        "request_id": "\(String(decoding: request.requestID, as: UTF8.self))",
                        "trace_id": "\(request.trace.traceID)",
                    ])
                note(refusal: failure.rawValue)
            }
            end()
            client.abort()
        }
    }

    /// The error for the client. A failure of Gatehouse's own services is `UNAVAILABLE`, never an error of the client.
    private func problem(for failure: ExchangeMachine.Failure) -> Problem {
        guard case .upstream(let upstream) = routeState.route.target, !upstream.isGatehouse else {
            return Problem(.unavailable)
        }
        return switch failure {
        case .timeout: Problem(.timeout)
        case .busy, .setAside, .exhausted: Problem(.unavailable)
        case .unreachable, .cut, .garbage: Problem(.badGateway)
        }
    }

    /// Whether the status of the response counts against the upstream's address.
    var isStatusFaultOfAddress: Bool { routeState.errorStatusIsFault && (502...504).contains(status) }

    func timedOut() {
        switch state.timedOut(upstreamAcceptsBody: upstreamAcceptsBody, at: worker.now) {
        case .forward: endBuffering()
        case .refuseSlowBody:
            countRejection()
            refuse(Problem(.invalidRequest), reason: "slow body")
        case .leaveQueue: queueTimedOut()
        case .fail(let retry): failed(.timeout, retry)
        }
    }

    func requestIsMalformed() { refuse(Problem(.invalidRequest)) }

    /// Responds with an error, or aborts if part of the upstream's response has been written.
    ///
    /// - Parameter fields: whole lines.
    func refuse(_ problem: Problem, fields: String = "", reason: String? = nil) {
        note(refusal: reason ?? problem.code.rawValue)
        if state.phase == .responding {
            drop()
            return client.abort()
        }
        let response = LocalResponse.refusal(
            problem, as: routeState.route.errorForm, requestID: request.requestID,
            fields: fields + String(decoding: request.cors, as: UTF8.self))
        responseBytes = response.bodyBytes(toHead: method == .head)
        drop(status: response.status)
        client.respondInstead(response, requestID: request.requestID, isHead: method == .head)
    }

    /// The client takes its response too slowly.
    func clientIsTooSlow() {
        note(refusal: "slow reader")
        drop(status: state.hasResponse ? nil : 499)
        client.abort()
    }

    /// Counts the reason why the gateway responds instead of the upstream or cuts its response, and keeps the reason
    /// for the access log.
    func note(refusal: String) {
        self.refusal = refusal
        worker.gateway.metrics.countRefusal(refusal, route: routeState.route.name)
    }

    func clientIsGone() {
        releasePermits()
        drop(status: 499)
    }

    /// Abandons the upstream's connection in the middle of the exchange.
    func drop(status: Int? = nil) {
        let connection = upstreamConnection
        upstreamConnection = nil
        connection?.abandon()
        if state.phase == .connecting { pool?.forget(self) }
        if let status { self.status = status }
        end()
    }
}
