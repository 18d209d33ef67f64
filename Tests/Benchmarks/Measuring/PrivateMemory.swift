import Foundation
import Synchronization

extension WatchedProcess {
    /// Bytes that are this process's alone (`RssAnon`).
    func privateMemory() throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)
        guard let kilobytes = text.firstMatch(of: /RssAnon:\s+([0-9]+) kB/)?.1, let number = Int(kilobytes) else {
            throw BenchmarkError("the system does not tell the memory of \(name)")
        }
        return number * 1024
    }
}

/// The private memory of Gatehouse's services: before there was any load, and the most that was seen at the end of a
/// measurement, with its load still on.
final class PrivateMemory: Sendable {
    private let idle: [(process: WatchedProcess, bytes: Int)]
    private let most = Mutex<[String: Int]>([:])

    /// The one that ``measure(_:workers:watching:schedule:operation:)`` tells of its processes.
    @TaskLocal static var current: PrivateMemory?

    init(of processes: [WatchedProcess]) throws {
        idle = try processes.map { ($0, try $0.privateMemory()) }
    }

    func look() throws {
        for (process, _) in idle {
            let bytes = try process.privateMemory()
            most.withLock { $0[process.name, default: 0].grow(to: bytes) }
        }
    }

    func report() {
        let most = most.withLock(\.self)
        Table.title("Private memory in MB")
        Table.columns("", ["idle", "under load"])
        for (process, bytes) in idle { line(process.name, bytes, most[process.name]) }
        line("together", idle.reduce(0) { $0 + $1.bytes }, nil)
    }

    private func line(_ name: String, _ idle: Int, _ loaded: Int?) {
        Table.columns(name, [idle, loaded].map { $0.map { Table.number(Double($0) / 1e6) } ?? "" })
    }
}

extension Int {
    fileprivate mutating func grow(to other: Int) { self = Swift.max(self, other) }
}
