import Contracts
import Logging

/// What goes wrong, on either side.
extension Exchange {
    /// The upstream's connection is gone, or was never there.
    ///
    /// - Parameters:
    ///   - isSafeToRepeat: whether the upstream can't have begun to act on the request.
    func failed(_ failure: Failure, isSafeToRepeat: Bool) {
        let connection = upstream
        upstream = nil
        if case .waitingForResponse = phase, isToBlame(failure, isSafeToRepeat) {
            pool?.failed(.noResponse, now: worker.now)
        }
        connection?.abandon()
        switch phase {
        case .ended: return
        case .responding:
            worker.gateway.logger.warning(
                "answer cut short", metadata: ["route": "\(plan.route.name)", "reason": "\(failure.rawValue)"])
            note(refusal: failure.rawValue)
            end()
            client.abort()
        case .tunnel:
            end()
            client.abort()
        case .connecting, .waitingForResponse:
            // Of a body that has ended nothing is there to be sent again.
            let isUntouched = !hasBody || (bodyBytes == 0 && !isRequestComplete)
            let addresses = plan.balancer?.count ?? 1
            // One address that refuses connections is not asked twice; a connection that was stale is replaced.
            let limit = failure == .unreachable ? addresses : addresses + 1
            // A kept connection that was stale is replaced without end: there are not more than were kept.
            let isStale = failure == .cut && isSafeToRepeat
            if isSafeToRepeat || isProbe, isUntouched, attempts < limit,
                isStale || plan.balancer?.mayRetry() ?? false
            {
                phase = .connecting
                start()
            } else {
                refuse(problem(for: failure), reason: failure.rawValue)
            }
        }
    }

    /// Whether the upstream's address is to blame: not where a kept connection was closing, nor where the client left
    /// it waiting.
    private func isToBlame(_ failure: Failure, _ isSafeToRepeat: Bool) -> Bool {
        isRequestComplete && !(failure == .cut && isSafeToRepeat)
    }

    /// Of Gatehouse's own services, trouble is `UNAVAILABLE` and never the client's fault.
    private func problem(for failure: Failure) -> Problem {
        guard case .upstream(let upstream) = plan.route.target, !upstream.isGatehouse else {
            return Problem(.unavailable)
        }
        return switch failure {
        case .timeout: Problem(.timeout)
        case .busy: Problem(.unavailable)
        case .unreachable, .cut, .garbage: Problem(.badGateway)
        }
    }

    func timedOut() {
        if isProbe, case .waitingForResponse = phase, worker.now < deadline {
            return failed(.timeout, isSafeToRepeat: true)
        }
        // The upstream waits too: for what the client has still to send.
        let waitsForClient = !isRequestComplete && takesBody
        if case .waitingForResponse = phase, waitsForClient {
            countFailure()
            refuse(Problem(.invalidRequest), reason: "slow body")
        } else {
            failed(.timeout, isSafeToRepeat: false)
        }
    }

    func requestIsMalformed() { refuse(Problem(.invalidRequest)) }

    func refuse(_ problem: Problem, reason: String? = nil) {
        note(refusal: reason ?? problem.code.rawValue)
        if case .responding = phase {
            drop()
            return client.abort()
        }
        let response = LocalResponse.refusal(
            problem, as: plan.route.errorForm, requestID: request.requestID,
            fields: String(decoding: request.cors, as: UTF8.self))
        responseBytes = response.bodyBytes(toHead: method == .head)
        drop(status: response.status)
        client.respondInstead(response, requestID: request.requestID, isHead: method == .head)
    }

    /// The client does not take its response.
    func clientIsTooSlow() {
        note(refusal: "slow reader")
        drop(status: hasResponse ? nil : 499)
        client.abort()
    }

    /// Counts why the gateway responds in the upstream's place, or cuts its response, and keeps it for the access log.
    func note(refusal: String) {
        self.refusal = refusal
        worker.gateway.metrics.countRefusal(refusal, route: plan.route.name)
    }

    func clientIsGone() {
        worker.requestEnds(of: address, wasTunnel: isTunnel)
        drop(status: 499)
    }

    /// Lets the upstream go in the middle.
    func drop(status: Int? = nil) {
        let connection = upstream
        upstream = nil
        connection?.abandon()
        if case .connecting = phase { pool?.forget(self) }
        if let status { self.status = status }
        end()
    }
}
