#if canImport(Glibc)
    import Glibc

    private let openFiles = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
#else
    import Darwin

    private let openFiles = RLIMIT_NOFILE
#endif

/// What the system lets this process have open.
public enum FileDescriptors {
    /// Has the system allow as many as it allows at all; the usual 1,024 are left for programs that use `select`.
    ///
    /// - Returns: how many may be open now.
    public static func raiseLimit() -> Int {
        var limit = rlimit()
        guard getrlimit(openFiles, &limit) == 0 else { return 1024 }
        if limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = limit.rlim_max
            if setrlimit(openFiles, &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }
}
