import Foundation

/// A process whose CPU time a benchmark reads, as the operating system counts it.
struct WatchedProcess: Sendable {
    var name: String
    var id: Int32
    /// PostgreSQL works in children of its first process: theirs counts as well, also of those that have ended.
    var withChildren = false

    static let this = WatchedProcess(name: "bench", id: ProcessInfo.processInfo.processIdentifier)

    /// User and system time since the process started.
    func cpuTime() throws -> Duration {
        guard let own = ProcessTimes(id: id) else { throw BenchmarkError("\(name) (process \(id)) does not run") }
        guard withChildren else { return own.time }
        return ProcessTimes.all().filter { $0.parent == id }.reduce(own.time + own.endedChildren) { $0 + $1.time }
    }
}

/// One line of `/proc/PID/stat`.
private struct ProcessTimes {
    var parent: Int32
    var time: Duration
    var endedChildren: Duration

    /// Nothing when the process has ended.
    init?(id: Int32) {
        guard let line = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8),
            // The program's name stands in parentheses and may hold anything.
            let end = line.lastIndex(of: ")")
        else { return nil }
        // From the third field on, as proc(5) numbers them: 3 state, 4 parent, 14 user, 15 system, then the same of
        // children that have ended.
        let fields = line[line.index(after: end)...].split(separator: " ")
        guard fields.count > 14, let parent = Int32(fields[1]) else { return nil }
        let ticks = fields[11...14].map { Int64($0) ?? 0 }
        self.parent = parent
        time = .milliseconds((ticks[0] + ticks[1]) * Self.millisecondsPerTick)
        endedChildren = .milliseconds((ticks[2] + ticks[3]) * Self.millisecondsPerTick)
    }

    private static let millisecondsPerTick: Int64 = 1000 / Int64(sysconf(Int32(_SC_CLK_TCK)))

    static func all() -> [ProcessTimes] {
        let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return entries.compactMap(Int32.init).compactMap(ProcessTimes.init(id:))
    }
}

struct BenchmarkError: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
