import Foundation

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What the operating system knows of this process, under the names that Prometheus' own clients use.
enum ProcessMetrics {
    static func write(to text: inout String) {
        add("process_cpu_seconds_total", "counter", "CPU time in user and system mode.", cpuSeconds(), to: &text)
        if let resident = residentBytes() {
            add("process_resident_memory_bytes", "gauge", "Memory that is resident.", Double(resident), to: &text)
        }
        if let descriptors = openDescriptors() {
            add("process_open_fds", "gauge", "File descriptors that are open.", Double(descriptors), to: &text)
        }
        add(
            "process_start_time_seconds", "gauge", "When the process started, in seconds since 1970.", startTime,
            to: &text)
    }

    private static func add(_ name: String, _ type: String, _ help: String, _ value: Double, to text: inout String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n\(name) \(value)\n"
    }

    /// When this was first asked for, which ``Telemetry`` does at the start: within milliseconds of the process' own.
    static let startTime = Date.now.timeIntervalSince1970

    /// POSIX has `clock()` count in microseconds.
    private static func cpuSeconds() -> Double { Double(clock()) / 1e6 }

    private static func residentBytes() -> Int? {
        guard let status = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return nil }
        let pages = status.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return pages.map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) }
    }

    private static func openDescriptors() -> Int? {
        let folder = FileManager.default.fileExists(atPath: "/proc/self/fd") ? "/proc/self/fd" : "/dev/fd"
        return try? FileManager.default.contentsOfDirectory(atPath: folder).count
    }
}
