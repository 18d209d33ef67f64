import CoreMetrics
import GatehouseInstruments
public import Logging
public import ServiceLifecycle

/// Sends the spans of a process to a collector: a complete batch at once, an incomplete one after a second. It sends
/// one request at a time.
///
/// In a `ServiceGroup` it must precede the services that create spans, so that it stops after them. It then sends the
/// remaining spans, for at most ``flushTime``.
public struct SpanExporter: Service {
    /// The timeout for sending the remaining spans when the process ends.
    public static let flushTime = Duration.seconds(3)
    static let interval = Duration.seconds(1)

    private let spans: SpanBuffer
    private let resource: TraceResource
    private let logger: Logger
    private let interval: Duration
    private let flushTime: Duration
    private let metrics: SpanMetrics
    private let send: @Sendable ([UInt8]) async -> SpanExportOutcome

    /// - Parameters:
    ///   - resource: the attributes of this process for the collector.
    ///   - send: sends one `ExportTraceServiceRequest` in JSON, with a timeout of its own.
    public init(
        spans: SpanBuffer, resource: TraceResource, logger: Logger,
        send: @escaping @Sendable ([UInt8]) async -> SpanExportOutcome
    ) {
        self.init(
            spans: spans, resource: resource, logger: logger, interval: Self.interval, flushTime: Self.flushTime,
            metrics: MetricsSystem.factory, send: send)
    }

    init(
        spans: SpanBuffer, resource: TraceResource, logger: Logger, interval: Duration,
        flushTime: Duration, metrics: any MetricsFactory,
        send: @escaping @Sendable ([UInt8]) async -> SpanExportOutcome
    ) {
        self.spans = spans
        self.resource = resource
        self.logger = logger
        self.interval = interval
        self.flushTime = flushTime
        self.metrics = SpanMetrics(metrics)
        self.send = send
    }

    public func run() async {
        await withGracefulShutdownHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await exportUntilTheEnd() }
                group.addTask { await wakePeriodically() }
                group.addTask {
                    try? await gracefulShutdown()
                    try? await Task.sleep(for: flushTime)
                }
                // The first task to end has either sent all spans or waited for `flushTime`.
                _ = await group.next()
                group.cancelAll()
            }
        } onGracefulShutdown: {
            spans.finish()
        }
        metrics.count(dropped: spans.takeAll(), .shutdown)
    }

    private func wakePeriodically() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: interval)
            spans.wakeExporter()
        }
    }

    private func exportUntilTheEnd() async {
        var isFailing = false
        for await _ in spans.wakes { await exportAll(&isFailing) }
        await exportAll(&isFailing)
    }

    private func exportAll(_ isFailing: inout Bool) async {
        while !Task.isCancelled {
            let batch = spans.take()
            guard !batch.isEmpty else { return }
            await export(batch, &isFailing)
        }
    }

    /// Sends a batch, with retries where they may help, and logs when sending begins to fail and when it recovers.
    private func export(_ batch: [FinishedSpan], _ isFailing: inout Bool) async {
        let body = OTLPTraces.json(of: batch, from: resource)
        var retries = SpanExportRetries()
        while true {
            let outcome = await send(body)
            let isStopping = Task.isCancelled || Task.isShuttingDownGracefully
            switch retries.next(after: outcome, isStopping: isStopping, jitter: .random(in: 0...1)) {
            case .done(let reported):
                let rejected = min(max(reported, 0), batch.count)
                if isFailing { logger.notice("traces are exported again") }
                isFailing = false
                metrics.exported.increment(by: batch.count - rejected)
                return metrics.count(dropped: rejected, .rejected)
            case .again(let pause):
                note(outcome, &isFailing)
                // The pause ends early when the process stops.
                try? await cancelWhenGracefulShutdown { try await Task.sleep(for: pause) }
            case .drop(let reason):
                note(outcome, &isFailing)
                return metrics.count(dropped: batch.count, reason)
            }
        }
    }

    private func note(_ outcome: SpanExportOutcome, _ isFailing: inout Bool) {
        if !isFailing { logger.warning("traces cannot be exported", .reason("\(outcome)")) }
        isFailing = true
    }
}

extension SpanBuffer {
    /// Empties the buffer, and returns the number of spans in it.
    fileprivate func takeAll() -> Int {
        var count = 0
        while true {
            let batch = take()
            guard !batch.isEmpty else { return count }
            count += batch.count
        }
    }
}

/// The outcome of sending a batch of spans.
public enum SpanExportOutcome: Sendable, Equatable {
    /// The collector accepted the batch, except for the spans in `partialSuccess`.
    case taken(rejected: Int)
    /// The collector is busy.
    ///
    /// - Parameter retryAfter: the collector's `Retry-After`, if any.
    case busy(retryAfter: Duration?)
    /// The collector could not be reached, or did not answer in time.
    case unreachable
    /// The collector refused the batch. A retry would have the same outcome.
    case refused
}

/// How often, and when, one batch is retried. OTLP/HTTP allows a retry only if the collector is busy or could not be
/// reached.
struct SpanExportRetries: Sendable {
    enum Step: Equatable {
        case done(rejected: Int)
        case again(after: Duration)
        case drop(SpanDropReason)
    }

    /// The number of attempts. After these the collector is considered unavailable, and newer spans matter more.
    static let attempts = 5
    static let firstPause = Duration.seconds(1)
    /// The maximum for a collector's `Retry-After`, so that spans do not accumulate for longer.
    static let longestPause = Duration.seconds(30)

    private var made = 0

    init() {}

    /// - Parameters:
    ///   - isStopping: whether the process is about to end, so that the exporter must not wait.
    ///   - jitter: 0 to 1, at random, so that replicas that failed together do not retry together.
    mutating func next(after outcome: SpanExportOutcome, isStopping: Bool, jitter: Double) -> Step {
        made += 1
        let pause: Duration?
        let reason: SpanDropReason
        switch outcome {
        case .taken(let rejected): return .done(rejected: rejected)
        case .refused: return .drop(.refused)
        case .busy(let retryAfter): (pause, reason) = (retryAfter, .busy)
        case .unreachable: (pause, reason) = (nil, .unreachable)
        }
        guard made < Self.attempts, !isStopping else { return .drop(reason) }
        let backoff = Self.firstPause * (1 << (made - 1)) * (0.5 + jitter / 2)
        return .again(after: min(pause ?? backoff, Self.longestPause))
    }
}
