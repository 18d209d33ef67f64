import DequeModule
import NIOCore
import NIOPosix

/// Requests at an even rate, whether or not answers come, over 64 connections. A latency counts from the moment in
/// which the request was due, so that one slow answer is not hidden by what it holds up.
final class ConstantRateLoad {
    private let loop: any EventLoop
    private let interval: Double
    private let end: NIODeadline
    private let started: NIODeadline
    private let finished: EventLoopPromise<[Int64]>

    private var idle: [RequestChannel] = []
    private var dueTimes: [ObjectIdentifier: NIODeadline] = [:]
    private var waiting: Deque<NIODeadline> = []
    private var sent = 0
    private var latencies: [Int64] = []

    /// - Returns: the latency in microseconds that all but one of a hundred requests keep.
    static func p99(
        port: Int, bearer: String, perSecond: Double, lasting duration: Duration, on loop: any EventLoop
    ) async throws -> Double {
        let latencies = try await run(
            port: port, bearer: bearer, perSecond: perSecond, lasting: duration, on: loop
        ).sorted()
        guard !latencies.isEmpty else { throw BenchmarkError("no request was answered") }
        return Double(latencies[latencies.count * 99 / 100]) / 1000
    }

    private static func run(
        port: Int, bearer: String, perSecond: Double, lasting duration: Duration, on loop: any EventLoop
    ) async throws -> [Int64] {
        let finished = loop.makePromise(of: [Int64].self)
        let load = NIOLoopBoundBox<ConstantRateLoad?>.makeEmptyBox(valueType: ConstantRateLoad.self, eventLoop: loop)
        var channels: [NIOLoopBound<RequestChannel>] = []
        for _ in 0..<Wrk.connections {
            channels.append(
                try await RequestChannel.connect(port: port, bearer: bearer, on: loop) { channel, result in
                    load.value?.answered(channel, result)
                })
        }
        let all = channels
        loop.execute {
            load.value = ConstantRateLoad(
                all.map(\.value), perSecond: perSecond, lasting: duration, on: loop, finished: finished)
            load.value?.next()
        }
        let result = try await finished.futureResult.get()
        loop.execute {
            load.value = nil
            for channel in all { channel.value.close() }
        }
        return result
    }

    private init(
        _ channels: [RequestChannel], perSecond: Double, lasting duration: Duration, on loop: any EventLoop,
        finished: EventLoopPromise<[Int64]>
    ) {
        idle = channels
        self.loop = loop
        self.finished = finished
        interval = 1_000_000_000 / perSecond
        started = .now()
        end = started + TimeAmount(duration)
        latencies.reserveCapacity(Int(perSecond * duration.seconds))
    }

    /// Sends all that is due and comes back when the next is.
    private func next() {
        let now = NIODeadline.now()
        while true {
            let due = started + .nanoseconds(Int64(Double(sent) * interval))
            if due >= end { return finished.succeed(latencies) }
            guard due <= now else {
                let bound = NIOLoopBound(self, eventLoop: loop)
                loop.scheduleTask(deadline: due) { bound.value.next() }
                return
            }
            sent += 1
            if let channel = idle.popLast() { ask(channel, due) } else { waiting.append(due) }
        }
    }

    private func ask(_ channel: RequestChannel, _ due: NIODeadline) {
        dueTimes[ObjectIdentifier(channel)] = due
        channel.ask()
    }

    private func answered(_ channel: RequestChannel, _ result: Result<Void, BenchmarkError>) {
        if case .failure(let error) = result { return finished.fail(error) }
        if let due = dueTimes[ObjectIdentifier(channel)] { latencies.append((.now() - due).nanoseconds) }
        if let due = waiting.popFirst() { ask(channel, due) } else { idle.append(channel) }
    }
}
