import Foundation
import Synchronization
import Threads

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Writes lines to a file descriptor from a thread of its own, so that nobody who logs ever waits for a pipe.
///
/// Lines are gathered for a few milliseconds and written together. What would exceed the buffer is dropped and
/// counted: a service whose log is not read goes on serving.
package final class LogWriter: Sendable {
    private struct State {
        var lines: [UInt8] = []
        var dropped = 0
        var isThreadRunning = false
        var isAsleep = false
    }

    /// Bytes that wait at most.
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

    /// Starts the thread, for the process' whole life. Where the system has none left, the lines wait in the buffer and
    /// the next one tries again.
    private func start() {
        do throws(SystemThreadError) {
            try SystemThread.start("log") { [self] in run() }
        } catch {
            state.withLock { $0.isThreadRunning = false }
        }
    }

    /// Writes what waits; before the process ends.
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
