import Foundation

/// The CPU time of `work` on the calling thread, the minimum of three runs, and of up to 100 while it is not less than
/// `limit`: a busy processor makes any work slow, but not each time.
public func leastCPUTime(aimingUnder limit: Duration = .seconds(3600), of work: () throws -> Void) rethrows -> Duration
{
    var (least, runs) = (Duration.seconds(3600), 0)
    repeat {
        let start = time(of: CLOCK_THREAD_CPUTIME_ID)
        try work()
        least = min(least, time(of: CLOCK_THREAD_CPUTIME_ID) - start)
        runs += 1
    } while runs < 3 || (least >= limit && runs < 100)
    return least
}

extension TestProcess {
    /// The CPU time of all the process's threads since it started; `nil` if it has ended or the system does not report
    /// it.
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
    // Two plain numbers, because the origin of `timespec`'s fields depends on which module the compiler reads first.
    var time = (seconds: 0, nanoseconds: 0)
    withUnsafeMutableBytes(of: &time) { bytes in
        _ = bytes.withMemoryRebound(to: timespec.self) { clock_gettime(clock, $0.baseAddress!) }
    }
    return .seconds(time.seconds) + .nanoseconds(time.nanoseconds)
}
