import Foundation

/// Threads for blocking work. Foundation's `Thread` does not report that the system has no thread left, for example
/// because of a container's limit of processes, and its caller then waits forever. These throw an error instead.
public enum SystemThread {
    /// Runs `body` on a thread of its own.
    ///
    /// - Parameters:
    ///   - name: at most 15 letters, as the system shows it.
    ///   - stackSize: bytes; the system's default unless given.
    /// - Throws: ``SystemThreadError`` when the process may not create more threads.
    public static func start(
        _ name: StaticString, stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void
    ) throws(SystemThreadError) {
        let work = Unmanaged.passRetained(Work(name: name, body: body))
        let status = withUnsafeTemporaryAllocation(of: pthread_attr_t.self, capacity: 1) { attributes in
            let attributes = attributes.baseAddress!
            pthread_attr_init(attributes)
            defer { pthread_attr_destroy(attributes) }
            if let stackSize { pthread_attr_setstacksize(attributes, stackSize) }
            #if canImport(Darwin)
                pthread_attr_setdetachstate(attributes, PTHREAD_CREATE_DETACHED)
                var thread: pthread_t?
            #else
                pthread_attr_setdetachstate(attributes, Int32(PTHREAD_CREATE_DETACHED))
                var thread = pthread_t()
            #endif
            return pthread_create(&thread, attributes, runWork, work.toOpaque())
        }
        guard status == 0 else {
            work.release()
            throw SystemThreadError(status: status)
        }
    }

    fileprivate final class Work: Sendable {
        let name: StaticString
        let body: @Sendable () -> Void

        init(name: StaticString, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }

        func run() {
            Thread.current.name = name.description
            body()
        }
    }
}

#if canImport(Darwin)
    private func runWork(_ work: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        Unmanaged<SystemThread.Work>.fromOpaque(work).takeRetainedValue().run()
        return nil
    }
#else
    private func runWork(_ work: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard let work else { return nil }
        Unmanaged<SystemThread.Work>.fromOpaque(work).takeRetainedValue().run()
        return nil
    }
#endif

/// The system has no threads left for this process.
public struct SystemThreadError: Error, CustomStringConvertible {
    /// As `pthread_create` returns it.
    public let status: Int32

    public var description: String { "no thread: \(String(cString: strerror(status)))" }
}

/// A priority below the process's own, for threads whose work can wait: while other threads need the processors, these
/// get little time.
public struct LowerPriority: Sendable {
    #if !canImport(Darwin)
        private let nice: Int32

        /// Ten steps reduce a thread's share of a contended processor to a tenth (sched(7)).
        private static let steps: Int32 = 10
        private static let lowest: Int32 = 19
        private static let thread = __priority_which_t(PRIO_PROCESS.rawValue)
    #endif

    /// Ten steps below the calling thread.
    public init() {
        #if !canImport(Darwin)
            nice = min(getpriority(Self.thread, 0) + Self.steps, Self.lowest)
        #endif
    }

    /// Applies the priority to the calling thread until the thread ends. Repeated calls change nothing.
    public func apply() {
        #if canImport(Darwin)
            pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0)
        #else
            // On Linux each thread has a priority of its own, and 0 is the calling one (setpriority(2)).
            _ = setpriority(Self.thread, 0, nice)
        #endif
    }
}
