import Dispatch
import Foundation
import GatehouseThreads
import Synchronization

/// The state of a connection after its last operation.
struct ConnectionReport: Sendable {
    enum Status: Sendable {
        /// Open, and in no transaction.
        case idle
        /// Open, in a transaction (which may have failed).
        case inTransaction
        /// The caller gave up before the server answered. The connection is unusable, and stays open until the server
        /// answers.
        case unanswered
        /// Not open yet, or closed.
        case closed
    }

    var status = Status.closed
    /// When the last operation began.
    var askedAt = ContinuousClock.now
    /// When the last byte arrived from the server.
    var heardAt = ContinuousClock.now
}

/// The part of a connection that any thread may use while the connection's own thread waits for the server. It reports
/// the status and interrupts the wait.
final class ConnectionControl: Sendable {
    typealias Status = ConnectionReport.Status

    private struct State {
        var report = ConnectionReport()
        var socket: Int32 = -1
        /// The operation in progress; numbered, so that a late interruption does not affect the next one.
        var operation: UInt64?
        var isInterrupted = false
    }

    private let state = Mutex(State())
    private let pipe: InterruptPipe

    /// - Throws: ``PostgresError`` with code `connectionFailed` if the process has no descriptors left.
    init() throws(PostgresError) {
        pipe = try InterruptPipe()
    }

    /// Becomes readable when the operation in progress is interrupted.
    var interruptDescriptor: Int32 { pipe.readEnd }
    var report: ConnectionReport { state.withLock(\.report) }
    var status: Status { report.status }
    var isInterrupted: Bool { state.withLock(\.isInterrupted) }

    /// Whether the connection is idle and the server has sent nothing since its last answer. A message on an idle
    /// connection nearly always announces that the server closes it.
    var isIdleAndQuiet: Bool {
        let (status, socket) = state.withLock { ($0.report.status, $0.socket) }
        guard status == .idle else { return false }
        var descriptor = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        return poll(&descriptor, 1, 0) == 0
    }

    func begin(_ operation: UInt64, at now: ContinuousClock.Instant) {
        state.withLock {
            $0.operation = operation
            $0.report.askedAt = now
        }
    }

    /// - Parameter heardAt: when the last byte arrived, unless that is known already.
    func end(_ status: Status, socket: Int32 = -1, heardAt: ContinuousClock.Instant? = nil) {
        let wasInterrupted = state.withLock { state in
            state.report.status = status
            if let heardAt { state.report.heardAt = heardAt }
            (state.socket, state.operation) = (socket, nil)
            defer { state.isInterrupted = false }
            return state.isInterrupted
        }
        if wasInterrupted { pipe.drain() }
    }

    /// Makes the operation stop waiting, if it is still in progress. Any thread may call it.
    func interrupt(_ operation: UInt64) {
        state.withLock {
            guard $0.operation == operation, !$0.isInterrupted else { return }
            $0.isInterrupted = true
            pipe.signal()
        }
    }
}

/// A pipe, because `poll` can wait for a pipe and a socket together.
private struct InterruptPipe: ~Copyable, Sendable {
    let readEnd: Int32
    private let writeEnd: Int32

    init() throws(PostgresError) {
        var ends: [Int32] = [-1, -1]
        guard Foundation.pipe(&ends) == 0 else {
            throw PostgresError(.connectionFailed, "no pipe: \(String(cString: strerror(errno)))")
        }
        (readEnd, writeEnd) = (ends[0], ends[1])
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }

    func signal() {
        var byte: UInt8 = 0
        _ = write(writeEnd, &byte, 1)
    }

    func drain() {
        var byte: UInt8 = 0
        _ = read(readEnd, &byte, 1)
    }
}

/// A thread that runs one connection's actor, so that waiting for the server never blocks one of the few threads that
/// all of Swift's tasks share.
///
/// The running thread keeps this object alive until ``stop()``. The connection calls that in its `deinit`, when no more
/// jobs can come.
final class ConnectionThread: SerialExecutor {
    private let jobs = Mutex<[UnownedJob]>([])
    private let pending = DispatchSemaphore(value: 0)

    /// - Throws: ``PostgresError`` with code `connectionFailed` when the process may not create more threads.
    func start() throws(PostgresError) {
        do throws(SystemThreadError) {
            try SystemThread.start("postgres") { self.run() }
        } catch {
            throw PostgresError(noThread: error)
        }
    }

    func stop() {
        pending.signal()
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        pending.signal()
    }

    private func run() {
        while true {
            pending.wait()
            // A wake without a job means ``stop()``.
            guard let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return }
            job.runSynchronously(on: asUnownedSerialExecutor())
        }
    }
}
