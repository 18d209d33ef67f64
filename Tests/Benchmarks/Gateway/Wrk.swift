import Foundation

/// `wrk`: asks through 64 connections that are kept, as fast as answers come.
struct Wrk {
    /// The peers' folder, with the script.
    let script: URL
    /// The bearers, a line each; one follows the other.
    let tokens: URL

    static let connections = 64

    /// - Throws: also when a single request failed: what is refused costs less.
    func measure(_ proxy: Proxy, schedule: Schedule) async throws -> Measurement {
        _ = try await run(proxy, seconds: max(1, Int(schedule.warmUp.seconds)))
        let before = try proxy.process.cpuTime()
        let result = try await run(proxy, seconds: schedule.wholeSeconds)
        let after = try proxy.process.cpuTime()
        return Measurement(
            name: proxy.name, operations: result.completed, elapsed: result.elapsed,
            cpu: [(proxy.name, after - before)])
    }

    private func run(_ proxy: Proxy, seconds: Int) async throws -> (completed: Int, elapsed: Duration) {
        let text = try await Tool.run(
            "wrk", "-t", "1", "-c", "\(Self.connections)", "-d", "\(seconds)s", "-s", script.path,
            "http://127.0.0.1:\(proxy.port)/bench", "--", tokens.path
        ).output
        guard let match = text.firstMatch(of: /completed=([0-9]+) microseconds=([0-9]+) failed=([0-9]+)/),
            let completed = Int(match.1), let microseconds = Int64(match.2)
        else { throw BenchmarkError("wrk told no result: \(text)") }
        guard match.3 == "0" else {
            throw BenchmarkError("\(match.3) of \(completed) requests through \(proxy.name) failed")
        }
        return (completed, .microseconds(microseconds))
    }
}
