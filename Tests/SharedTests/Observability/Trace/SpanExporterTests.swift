import Foundation
import Logging
import ServiceLifecycle
import Synchronization
import TestKit
import Testing

@testable import GatehouseObservability

@Suite struct SpanExporterTests {
    /// What a collector was sent, and what it answers.
    private final class Collector: Sendable {
        private struct State {
            var bodies: [String] = []
            var inFlight = 0
            var mostInFlight = 0
        }

        private let state = Mutex(State())
        private let answer: @Sendable (_ number: Int) async -> SpanExportOutcome

        init(_ answer: @escaping @Sendable (_ number: Int) async -> SpanExportOutcome) {
            self.answer = answer
        }

        @Sendable func send(_ body: [UInt8]) async -> SpanExportOutcome {
            let number = state.withLock { state in
                state.bodies.append(String(decoding: body, as: UTF8.self))
                state.inFlight += 1
                state.mostInFlight = max(state.mostInFlight, state.inFlight)
                return state.bodies.count
            }
            let outcome = await answer(number)
            state.withLock { $0.inFlight -= 1 }
            return outcome
        }

        var bodies: [String] { state.withLock(\.bodies) }
        var mostInFlight: Int { state.withLock(\.mostInFlight) }
        /// The names of the spans of each request.
        var names: [[String]] {
            bodies.map { body in body.matches(of: /"name":"(span \d+)"/).map { String($0.output.1) } }
        }
    }

    private let metrics = PrometheusRegistry()

    /// Runs an exporter while `body` runs, and then as long as its end takes.
    private func withExporter(
        _ collector: Collector, capacity: Int = 100, batch: Int = 10, interval: Duration = .milliseconds(5),
        flushTime: Duration = .seconds(60), logger: Logger = .quiet, _ body: (SpanBuffer) async throws -> Void
    ) async throws {
        let spans = SpanBuffer(capacity: capacity, batch: batch, metrics: metrics)
        let exporter = SpanExporter(
            spans: spans, resource: TraceResource(service: "s", version: "1", instance: "i", environment: "e"),
            logger: logger, interval: interval, flushTime: flushTime, metrics: metrics, send: collector.send)
        let group = ServiceGroup(services: [exporter], logger: .quiet)
        let running = Task { try await group.run() }
        let result = await Result { try await body(spans) }
        await group.triggerGracefulShutdown()
        try await running.value
        try result.get()
    }

    private func isCounted(_ name: String, _ value: Int) -> Bool {
        metrics.exposition().split(separator: "\n").contains("\(name) \(value)")
    }

    private func isDropped(_ count: Int, _ reason: String) -> Bool {
        isCounted(#"gatehouse_trace_spans_dropped_total{reason="\#(reason)"}"#, count)
    }

    @Test func sendsWhatThereIsNowAndThen() async throws {
        let collector = Collector { _ in .taken(rejected: 0) }
        try await withExporter(collector) { spans in
            for number in 1...3 { spans.offer(.example(number)) }
            try await eventually("spans are sent") { collector.names.flatMap(\.self).count == 3 }
        }
        #expect(collector.names.flatMap(\.self) == ["span 1", "span 2", "span 3"])
        #expect(isCounted("gatehouse_trace_spans_exported_total", 3))
    }

    @Test func sendsABatchAsSoonAsItIsComplete() async throws {
        let collector = Collector { _ in .taken(rejected: 0) }
        try await withExporter(collector, interval: .seconds(3600)) { spans in
            for number in 1...10 { spans.offer(.example(number)) }
            try await eventually("the batch is sent") { collector.bodies.count == 1 }
        }
        #expect(collector.names[0].count == 10)
    }

    @Test func sendsABusyCollectorTheSameAgain() async throws {
        let collector = Collector { $0 < 3 ? .busy(retryAfter: .zero) : .taken(rejected: 2) }
        let log = CapturedLog()
        try await withExporter(collector, logger: log.logger) { spans in
            for number in 1...5 { spans.offer(.example(number)) }
            try await eventually("spans are taken") { isDropped(2, "rejected") }
        }
        #expect(collector.bodies.count >= 3 && collector.bodies[0] == collector.bodies[1])
        #expect(isCounted("gatehouse_trace_spans_exported_total", 3))
        // Once for the trouble, however long it lasts, and once for its end.
        #expect(log.lines.count { $0.hasPrefix("warning traces cannot be exported") } == 1)
        #expect(log.lines.count { $0.hasPrefix("notice traces are exported again") } == 1)
    }

    @Test func throwsAwayWhatIsRefusedAndGoesOn() async throws {
        let collector = Collector { $0 == 1 ? .refused : .taken(rejected: 0) }
        try await withExporter(collector) { spans in
            spans.offer(.example(1))
            try await eventually("it is refused") { isDropped(1, "refused") }
            spans.offer(.example(2))
            try await eventually("the next is taken") { isCounted("gatehouse_trace_spans_exported_total", 1) }
        }
        #expect(collector.names == [["span 1"], ["span 2"]])
    }

    @Test func aCollectorThatNeverAnswersHoldsUpNobodyAndNothingGrows() async throws {
        let collector = Collector { _ in
            try? await Task.sleep(for: .seconds(3600))
            return .unreachable
        }
        try await withExporter(collector, flushTime: .zero) { spans in
            spans.offer(.example(0))
            try await eventually("a request is under way") { collector.bodies.count == 1 }
            for number in 1...1_000 { spans.offer(.example(number)) }
            #expect(isDropped(900, "queue_full"))
        }
        #expect(collector.bodies.count == 1 && collector.mostInFlight == 1)
        #expect(isDropped(1, "unreachable") && isDropped(100, "shutdown"))
    }

    @Test func sendsAtTheEndWhatIsLeft() async throws {
        let collector = Collector { _ in .taken(rejected: 0) }
        try await withExporter(collector, interval: .seconds(3600)) { spans in
            for number in 1...25 { spans.offer(.example(number)) }
        }
        #expect(collector.names.flatMap(\.self).count == 25 && collector.mostInFlight == 1)
        #expect(isCounted("gatehouse_trace_spans_exported_total", 25))
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
