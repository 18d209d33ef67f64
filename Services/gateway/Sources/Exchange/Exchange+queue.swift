import GatehouseServiceContracts
import NIOCore

/// The queue of a route that forwards only a few requests concurrently.
///
/// A request takes its queue's permit when its body is complete, so a slow client delays no other request.
extension Exchange {
    enum QueuePermit {
        case waiting(OrderedPermits, ticket: Int)
        case held(OrderedPermits)
    }

    /// Forwards the request if it needs no permit of a queue, or once it has one.
    func passQueue() {
        guard let (queue, waits) = queue() else { return start() }
        if queue.take() {
            queuePermit = .held(queue)
            return start()
        }
        // The request waits, because a client that is refused at once retries at once. A flood of retries would cost
        // more.
        if let permit = permit.take() { worker.gateway.permits.release(permit) }
        permit = worker.gateway.permits.take(waits, of: clientKey)
        guard permit != nil else { return refuseForQueue() }
        // The times differ, because clients that are refused together would retry together.
        let time = worker.clientTimes.queue
        state.enqueue(for: time / 2 + Int64(worker.random.next() % UInt64(max(1, time))), at: worker.now)
        client.allow(until: state.nextDeadline)
        let own = NIOLoopBound(self, eventLoop: worker.eventLoop)
        let ticket = queue.wait { [loop = worker.eventLoop] ticket in
            loop.execute { own.value.permitIsFree(ticket) }
        }
        queuePermit = .waiting(queue, ticket: ticket)
    }

    /// - Returns: the queue that the request has to pass, and the share for requests that wait in it; `nil`: none.
    private func queue() -> (OrderedPermits, waits: RequestPermits.Share)? {
        let gateway = worker.gateway
        if sendsPassword { return (gateway.passwords, gateway.passwordWaits) }
        // Other users may share the address, so its requests continue, a few at a time.
        guard excessOfRejections != nil else { return nil }
        return (gateway.rejectedNetworks.permits(of: clientKey), gateway.rejectedWaits)
    }

    private var sendsPassword: Bool {
        switch routeState.route.passwords {
        case .never: false
        case .always: state.hasBody
        case .optional: buffered.withUnsafeReadableBytes { JSONMember.isPresent("password", in: $0) }
        }
    }

    private var excessOfRejections: RateLimit.Excess? {
        request.countsRejections ? worker.gateway.rejectionLimiter?.excess(of: clientKey, now: worker.now) : nil
    }

    private func permitIsFree(_ ticket: Int) {
        // If the wait has timed out or the client is gone, the permit has been released already.
        guard case .waiting(let queue, ticket) = queuePermit else { return }
        queuePermit = .held(queue)
        proceedFromQueue()
    }

    /// The wait for a permit has timed out.
    func queueTimedOut() {
        guard case .waiting(let queue, let ticket) = queuePermit else { return }
        if queue.giveUp(ticket) {
            queuePermit = nil
            refuseForQueue()
        } else {
            queuePermit = .held(queue)
            proceedFromQueue()
        }
    }

    /// The request has its queue's permit: moves it to its upstream's share and forwards it.
    private func proceedFromQueue() {
        if let permit = permit.take() { worker.gateway.permits.release(permit) }
        permit = routeState.share.flatMap { worker.gateway.permits.take($0, of: clientKey) }
        guard permit != nil else { return refuse(Problem(.unavailable)) }
        client.allow(until: state.deadline)
        start()
        client.flushBothWays()
    }

    private func refuseForQueue() {
        guard request.countsRejections else { return refuse(Problem(.unavailable), reason: "passwords") }
        // The network's rejections may have expired meanwhile.
        guard let excess = excessOfRejections else { return refuse(Problem(.unavailable)) }
        let problem = Problem.tooMany(excess.retryAfter)
        refuse(problem, fields: excess.limit.fields(name: "failures", retryAfter: problem.retryAfter ?? 1))
    }

    func releaseQueuePermit() {
        switch queuePermit.take() {
        case .waiting(let queue, let ticket): if !queue.giveUp(ticket) { queue.release() }
        case .held(let queue): queue.release()
        case nil: break
        }
    }
}
