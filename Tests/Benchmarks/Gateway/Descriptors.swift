import Foundation

/// Files that a process may have open, as the shell that started this one allows.
enum Descriptors {
    static var limit: Int {
        var limit = rlimit()
        #if canImport(Glibc)
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        #else
            getrlimit(RLIMIT_NOFILE, &limit)
        #endif
        return Int(clamping: limit.rlim_cur)
    }
}
