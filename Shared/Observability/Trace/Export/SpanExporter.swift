import CoreMetrics
import Instruments
public import Logging
public import ServiceLifecycle

/// Sends the spans of a process to a collector: a batch when it is complete, or what there is after a second; one
/// request at a time.
///
/// As a service it belongs before those that make spans, so that it stops after them. It then sends what is left, for
/// ``flushTime`` at the most.
public struct SpanExporter: Service {
    /// For sending what is left when the process ends.
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
    ///   - resource: what the collector is told of this process.
    ///   - send: sends one `ExportTraceServiceRequest` in JSON, and gives up in good time.
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
                group.addTask { await lookNowAndThen() }
                group.addTask {
                    try? await gracefulShutdown()
                    try? await Task.sleep(for: flushTime)
                }
                // Either all is sent after the end, or there was no time left for it.
                _ = await group.next()
                group.cancelAll()
            }
        } onGracefulShutdown: {
            spans.finish()
        }
        metrics.count(dropped: spans.takeAll(), .shutdown)
    }

    private func lookNowAndThen() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: interval)
            spans.look()
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

    /// Sends a batch, again where that may help, and tells the log when that begins to fail and when it ends.
    private func export(_ batch: [Span], _ isFailing: inout Bool) async {
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
                // Ends early when the process is told to stop.
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
    /// Empties the buffer, and returns how many there were.
    fileprivate func takeAll() -> Int {
        var count = 0
        while true {
            let batch = take()
            guard !batch.isEmpty else { return count }
            count += batch.count
        }
    }
}
