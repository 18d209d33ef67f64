import NIOCore
@testable import Redis
import Testing

/// The rules of the pipeline, with numbers for waiters and no sockets.
@Suite struct RedisCommandQueueTests {
    private typealias Queue = RedisCommandQueue<Int>

    private func makeQueue(limit: Int = 10) -> Queue {
        Queue(limit: limit, maximumTimeoutsInARow: 3, minimumSilence: .milliseconds(100))
    }

    private func time(_ milliseconds: Int64) -> NIODeadline {
        .uptimeNanoseconds(1_000_000_000) + .milliseconds(milliseconds)
    }

    /// Adds command `id`, whose token and waiter are the same number.
    @discardableResult
    private func add(_ id: Int, to queue: inout Queue, at now: Int64 = 0, timeout: Int64 = 250) -> Queue.Enqueued {
        queue.enqueue(
            ["GET", "\(id)"], token: UInt64(id), now: time(now), deadline: time(now + timeout), waiter: id)
    }

    private func answer(_ queue: inout Queue) -> Int? {
        guard case .deliver(let waiter) = queue.answer() else { return nil }
        return waiter
    }

    @Test func writesWhatHasGatheredAtOnce() {
        var queue = makeQueue()
        guard case .accepted(flush: true, _) = add(1, to: &queue) else { return #expect(Bool(false)) }
        guard case .accepted(flush: false, _) = add(2, to: &queue) else { return #expect(Bool(false)) }
        let (bytes, commands) = queue.takeOutbox()
        #expect(commands == 2)
        #expect(
            String(buffer: bytes) == "*2\r\n$3\r\nGET\r\n$1\r\n1\r\n*2\r\n$3\r\nGET\r\n$1\r\n2\r\n")
        #expect(queue.takeOutbox().commands == 0)
        guard case .accepted(flush: true, _) = add(3, to: &queue) else { return #expect(Bool(false)) }
    }

    @Test func answersInOrder() {
        var queue = makeQueue()
        for id in 1...3 { add(id, to: &queue) }
        #expect(answer(&queue) == 1)
        #expect(answer(&queue) == 2)
        #expect(answer(&queue) == 3)
        guard case .unexpected = queue.answer() else { return #expect(Bool(false)) }
    }

    @Test func throwsAwayTheAnswerOfACancelledCommand() {
        var queue = makeQueue()
        for id in 1...3 { add(id, to: &queue) }
        #expect(queue.cancel(token: 2) == 2)
        #expect(queue.cancel(token: 2) == nil)
        #expect(queue.cancel(token: 9) == nil)
        #expect(answer(&queue) == 1)
        guard case .discard = queue.answer() else { return #expect(Bool(false)) }
        #expect(answer(&queue) == 3)
    }

    @Test func refusesMoreThanItsLimitTombstonesIncluded() {
        var queue = makeQueue(limit: 2)
        add(1, to: &queue)
        add(2, to: &queue)
        _ = queue.cancel(token: 1)
        guard case .refused(let error) = add(3, to: &queue) else { return #expect(Bool(false)) }
        #expect(error.code == .queueFull)
        #expect(error.isUnavailable)
        _ = queue.answer()
        guard case .accepted = add(3, to: &queue) else { return #expect(Bool(false)) }
    }

    @Test func asksForATimerOnlyWhenNoneComesInTime() {
        var queue = makeQueue()
        guard case .accepted(_, timer: time(250)) = add(1, to: &queue) else { return #expect(Bool(false)) }
        guard case .accepted(_, timer: nil) = add(2, to: &queue, at: 10) else { return #expect(Bool(false)) }
        guard case .accepted(_, timer: time(70)) = add(3, to: &queue, at: 20, timeout: 50) else {
            return #expect(Bool(false))
        }
    }

    @Test func expiresWhoseTimeIsUpAndAsksForTheNextTimer() {
        var queue = makeQueue()
        add(1, to: &queue)
        add(2, to: &queue, at: 10)
        let first = queue.expire(now: time(250))
        #expect(first.waiters == [1])
        #expect(first.timer == time(260))
        #expect(!first.isStalled)
        // An outdated timer does nothing.
        let early = queue.expire(now: time(255))
        #expect(early.waiters.isEmpty && early.timer == nil)
        guard case .discard = queue.answer() else { return #expect(Bool(false)) }
        #expect(answer(&queue) == 2)
        #expect(queue.expire(now: time(260)).timer == nil)
    }

    @Test("Several timeouts in a row without an answer: the connection counts as dead")
    func timeoutsInARow() {
        var queue = makeQueue()
        for id in 1...3 { add(id, to: &queue, at: Int64(id) * 100) }
        #expect(!queue.expire(now: time(350)).isStalled)
        #expect(!queue.expire(now: time(450)).isStalled)
        #expect(queue.expire(now: time(550)).isStalled)
    }

    @Test func anAnswerStartsTheCountAgain() {
        var queue = makeQueue()
        for id in 1...2 { add(id, to: &queue) }
        #expect(!queue.expire(now: time(250)).isStalled)
        _ = queue.answer()
        for id in 3...4 { add(id, to: &queue, at: 300) }
        #expect(!queue.expire(now: time(550)).isStalled)
    }

    @Test func impatientCommandsAloneDoNotEndAConnection() {
        var queue = makeQueue()
        for id in 1...5 { add(id, to: &queue, timeout: 1) }
        #expect(queue.expire(now: time(1)).waiters.count == 5)
        add(6, to: &queue, at: 2, timeout: 50)
        #expect(!queue.expire(now: time(52)).isStalled)
        add(7, to: &queue, at: 60, timeout: 50)
        #expect(queue.expire(now: time(110)).isStalled)
    }

    @Test func givesBackWhoWaitsWhenItCloses() {
        var queue = makeQueue()
        for id in 1...3 { add(id, to: &queue) }
        _ = queue.cancel(token: 2)
        #expect(queue.close(RedisError(.connectionLost, "first")) == [1, 3])
        #expect(queue.close(RedisError(.connectionLost, "second")).isEmpty)
        #expect(queue.closure?.message == "first")
        guard case .refused(let error) = add(4, to: &queue) else { return #expect(Bool(false)) }
        #expect(error.message == "first")
        #expect(queue.takeOutbox().commands == 0)
    }
}
