import Foundation
import Synchronization

/// What may be asked of a connection from any thread while its own thread waits for the server:
/// whether it can be used again, and to stop waiting.
final class ConnectionControl: Sendable {
    enum Status: Sendable {
        /// Open, and in no transaction.
        case idle
        /// Open, in a transaction (which may have failed).
        case inTransaction
        /// Not open yet, or not any more.
        case closed
    }

    private struct State {
        var status = Status.closed
        var socket: Int32 = -1
        /// The operation under way; numbered, so that a late interruption does not hit the next one.
        var operation: UInt64?
        var isInterrupted = false
    }

    private let state = Mutex(State())
    private let pipe: InterruptPipe

    /// - Throws: ``PostgresError`` with code `connectionFailed` where the process has no descriptors left.
    init() throws(PostgresError) {
        pipe = try InterruptPipe()
    }

    /// Becomes readable when the operation under way is interrupted.
    var interruptDescriptor: Int32 { pipe.readEnd }
    var status: Status { state.withLock(\.status) }
    var isInterrupted: Bool { state.withLock(\.isInterrupted) }

    /// Whether the connection is idle and the server has said nothing since its last answer: what it says to an idle
    /// connection is nearly always that it closes it.
    var isIdleAndQuiet: Bool {
        let (status, socket) = state.withLock { ($0.status, $0.socket) }
        guard status == .idle else { return false }
        var descriptor = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        return poll(&descriptor, 1, 0) == 0
    }

    func begin(_ operation: UInt64) {
        state.withLock { $0.operation = operation }
    }

    func end(_ status: Status, socket: Int32) {
        let wasInterrupted = state.withLock { state in
            defer { state = State(status: status, socket: socket) }
            return state.isInterrupted
        }
        if wasInterrupted { pipe.drain() }
    }

    /// Makes the operation stop waiting, if it is still under way. From any thread.
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
