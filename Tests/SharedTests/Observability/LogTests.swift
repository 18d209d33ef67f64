import Foundation
import Logging
import Synchronization
import TestKit
import Testing
import Tracing

@testable import GatehouseObservability

@Suite struct LogTests {
    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        func add(_ bytes: [UInt8]) { lines.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) } }
        func all() -> [String] { lines.withLock { $0 } }
        func members() throws -> [[String: Any]] {
            try all().map { try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) }
        }
    }

    private func logger(_ lines: Lines, level: Logger.Level = .info) -> Logger {
        Logger(label: "test") { _ in JSONLogHandler(service: "tokens", level: level, write: lines.add) }
    }

    @Test func writesOneObjectALine() throws {
        let lines = Lines()
        var logger = logger(lines)
        logger[metadataKey: "replica"] = "r\"1\n\u{1}é"
        logger.info("hello\nworld", .reason("r"), .count(7), .duration(.milliseconds(2)))
        logger.debug("not shown", .count(1))
        #expect(lines.all().count == 1)
        #expect(lines.all()[0].hasSuffix("}\n"))
        #expect(lines.all()[0].filter { $0 == "\n" }.count == 1)
        let line = try lines.members()[0]
        #expect(line["level"] as? String == "info")
        #expect(line["service"] as? String == "tokens")
        #expect(line["message"] as? String == "hello\nworld")
        #expect(line["replica"] as? String == "r\"1\n\u{1}é")
        #expect(line["reason"] as? String == "r")
        #expect(line["count"] as? Int == 7)
        #expect(line["duration_us"] as? Int == 2000)
        #expect(line["request_id"] == nil)
        let time = try #require(line["time"] as? String)
        #expect(time.count == 27 && time.hasSuffix("Z"))
    }

    @Test func carriesTheRequest() throws {
        let lines = Lines()
        let trace = TraceContext()
        var context = ServiceContext.topLevel
        context.requestID = "abc"
        context.traceContext = trace
        ServiceContext.withValue(context) { logger(lines).warning("x", .reason("y")) }
        let line = try lines.members()[0]
        #expect(line["request_id"] as? String == "abc")
        #expect(line["trace_id"] as? String == trace.traceID)
        #expect(line["span_id"] as? String == trace.spanID)
    }

    @Test func neverWritesASecret() throws {
        let lines = Lines()
        for key in [
            "Authorization", "refresh_token", "password", "client-secret", "Gatehouse-Credential", "set-cookie",
        ] {
            logger(lines).info("x", metadata: ["\(key)": "hush"])
        }
        #expect(!lines.all().joined().contains("hush"))
        #expect(try lines.members().count == 6)
    }

    @Test func writesThroughAThreadOfItsOwn() throws {
        let pipe = Pipe()
        let writer = LogWriter(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        for number in 0..<100 { writer.write(Array("\(number)\n".utf8)) }
        var text = ""
        while text.filter({ $0 == "\n" }).count < 100 {
            text += String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self)
        }
        #expect(text == (0..<100).map { "\($0)\n" }.joined())
        // Woken again after it slept.
        writer.write(Array("last\n".utf8))
        #expect(String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self) == "last\n")
    }

    @Test func dropsAndCountsWhatNobodyReads() async throws {
        let pipe = Pipe()
        let writer = LogWriter(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        let line = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
        // The pipe takes 64 KiB; the buffer 4 MiB. Neither blocks the caller that logs.
        for _ in 0..<20 { writer.write(line) }
        let tail = Mutex("")
        Thread.detachNewThread {
            while !tail.withLock({ $0.contains("log lines dropped") }) {
                let text = String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self)
                tail.withLock { $0 = String(($0 + text).suffix(200)) }
            }
        }
        try await eventually("dropped lines are told") { tail.withLock { $0.contains("log lines dropped") } }
    }
}
