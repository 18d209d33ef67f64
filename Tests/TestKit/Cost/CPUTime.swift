import Foundation

/// The CPU time that `work` takes of the calling thread, the least of three tries: what other threads and processes do
/// meanwhile counts nothing.
public func leastCPUTime(of work: () throws -> Void) rethrows -> Duration {
    var least = Duration.seconds(3600)
    for _ in 0..<3 {
        let start = time(of: CLOCK_THREAD_CPUTIME_ID)
        try work()
        least = min(least, time(of: CLOCK_THREAD_CPUTIME_ID) - start)
    }
    return least
}

extension TestProcess {
    /// The CPU time that all of the process's threads have taken since it started; `nil` when it has ended, and where nobody tells.
    public var cpuTime: Duration? {
        #if canImport(Darwin)
            return nil
        #else
            var clock = clockid_t()
            guard clock_getcpuclockid(processID, &clock) == 0 else { return nil }
            return time(of: clock)
        #endif
    }
}

private func time(of clock: clockid_t) -> Duration {
    // As two numbers: whose the fields of `timespec` are depends on which module the compiler reads first.
    var time = (seconds: 0, nanoseconds: 0)
    withUnsafeMutableBytes(of: &time) { bytes in
        _ = bytes.withMemoryRebound(to: timespec.self) { clock_gettime(clock, $0.baseAddress!) }
    }
    return .seconds(time.seconds) + .nanoseconds(time.nanoseconds)
}
