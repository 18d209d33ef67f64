import Foundation
import GatehouseInstruments

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Metrics of this process from the operating system, under the names that Prometheus' own clients use.
enum ProcessMetrics {
    /// Each metric, and its present value, if the system tells it.
    static let all: [(declaration: MetricDeclaration, value: @Sendable () -> Double?)] = [
        (MetricDeclaration("process_cpu_seconds_total", .counter, "CPU time in user and system mode."), cpuSeconds),
        (
            MetricDeclaration("process_resident_memory_bytes", .gauge, "Memory that is resident."),
            { residentBytes().map(Double.init) }
        ),
        (
            MetricDeclaration("process_memory_limit_bytes", .gauge, "The memory limit of the container."),
            { memoryLimit().map(Double.init) }
        ),
        (
            MetricDeclaration("process_open_fds", .gauge, "File descriptors that are open."),
            { openDescriptors().map(Double.init) }
        ),
        (
            MetricDeclaration(
                "process_start_time_seconds", .gauge, "When the process started, in seconds since 1970."),
            { startTime }
        ),
    ]

    static func write(to text: inout String) {
        for (metric, value) in all {
            guard let value = value() else { continue }
            text += """
                # HELP \(metric.name) \(metric.help)
                # TYPE \(metric.name) \(metric.kind.rawValue)
                \(metric.name) \(value)

                """
        }
    }

    /// The time of the first access. ``Telemetry`` makes it at the start, within milliseconds of the process' start.
    static let startTime = Date.now.timeIntervalSince1970

    /// POSIX has `clock()` count in microseconds.
    private static func cpuSeconds() -> Double? { Double(clock()) / 1e6 }

    private static func residentBytes() -> Int? {
        guard let status = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return nil }
        let pages = status.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return pages.map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) }
    }

    /// The smallest limit of the control groups that the process is in; `nil` without one.
    ///
    /// - Parameter read: the text of a file; `nil` if there is none.
    static func memoryLimit(
        read: (String) -> String? = { try? String(contentsOfFile: $0, encoding: .utf8) }
    ) -> Int? {
        // Lines of ID:CONTROLLERS:PATH (cgroups(7)). Version 2 has one, without controllers.
        let groups = (read("/proc/self/cgroup") ?? "").split(separator: "\n")
        let limits = groups.flatMap { line -> [Int] in
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else { return [] }
            let isVersion2 = parts[1].isEmpty
            guard isVersion2 || parts[1].split(separator: ",").contains("memory") else { return [] }
            let (mount, file) =
                isVersion2
                ? ("/sys/fs/cgroup", "memory.max") : ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            // The limits of all parent groups apply too. In a container the root is often the container's own group.
            let names = parts[2].split(separator: "/")
            return (0...names.count).compactMap { count in
                let folder = ([mount] + names.prefix(count).map(String.init)).joined(separator: "/")
                return read("\(folder)/\(file)").flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
            }
        }
        // Without a limit, version 1 has the largest number of whole pages, and version 2 has "max".
        return limits.filter { $0 < 1 << 60 }.min()
    }

    private static func openDescriptors() -> Int? {
        let folder = FileManager.default.fileExists(atPath: "/proc/self/fd") ? "/proc/self/fd" : "/dev/fd"
        return try? FileManager.default.contentsOfDirectory(atPath: folder).count
    }
}
