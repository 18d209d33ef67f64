import Foundation
import GatehouseThreads
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Writes lines to a file descriptor from a thread of its own, so that a task that logs never waits for a pipe.
///
/// Lines are collected for a few milliseconds and written together. Lines that exceed the buffer are dropped and
/// counted, so that a service whose log is not read continues to serve.
package final class LogWriter: Sendable {
    private struct State {
        var lines: [UInt8] = []
        var dropped = 0
        var isThreadRunning = false
        var isAsleep = false
    }

    /// The most bytes that wait.
    static let capacity = 4 << 20
    /// Seconds during which lines are gathered.
    private static let gathering = 0.005

    private let descriptor: Int32
    private let state = Mutex(State())
    private let writing = Mutex(())
    private let wake = DispatchSemaphore(value: 0)

    package static let standardOutput = LogWriter(descriptor: 1)

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    func write(_ line: [UInt8]) {
        let (startThread, wakeThread) = state.withLock { state -> (Bool, Bool) in
            guard state.lines.count + line.count <= Self.capacity else {
                state.dropped += 1
                return (false, false)
            }
            state.lines.append(contentsOf: line)
            defer { (state.isThreadRunning, state.isAsleep) = (true, false) }
            return (!state.isThreadRunning, state.isAsleep)
        }
        if startThread {
            start()
        } else if wakeThread {
            wake.signal()
        }
    }

    /// Starts the thread, which runs until the process ends. If the system has no thread left, the lines wait in the
    /// buffer, and the next line retries.
    private func start() {
        do throws(SystemThreadError) {
            try SystemThread.start("log") { [self] in run() }
        } catch {
            state.withLock { $0.isThreadRunning = false }
        }
    }

    /// Writes the waiting lines before the process ends.
    package func flush() {
        writing.withLock { _ in
            let (lines, dropped) = state.withLock { state in
                defer { (state.lines, state.dropped) = ([], 0) }
                return (state.lines, state.dropped)
            }
            writeAll(lines)
            if dropped > 0 {
                writeAll(Array("{\"level\":\"warning\",\"message\":\"log lines dropped\",\"count\":\(dropped)}\n".utf8))
            }
        }
    }

    private func run() {
        while true {
            Thread.sleep(forTimeInterval: Self.gathering)
            flush()
            let sleeps = state.withLock { state in
                state.isAsleep = state.lines.isEmpty
                return state.isAsleep
            }
            if sleeps { wake.wait() }
        }
    }

    private func writeAll(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty {
                #if canImport(Glibc)
                    let written = Glibc.write(
                        descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                #else
                    let written = Darwin.write(
                        descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                #endif
                if written > 0 {
                    rest = rest.dropFirst(written)
                } else if errno != EINTR && errno != EAGAIN {
                    return
                }
            }
        }
    }
}
