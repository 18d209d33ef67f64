import Dispatch
import Synchronization
import Threads

/// A thread that runs one connection's actor, so that waiting for the server never holds up one of the few threads that
/// all of Swift's tasks share.
///
/// The running thread keeps this object alive; it ends at ``stop()``, which the connection calls when it goes away,
/// that is when no more jobs can come.
final class ConnectionThread: SerialExecutor {
    private let jobs = Mutex<[UnownedJob]>([])
    private let pending = DispatchSemaphore(value: 0)

    /// - Throws: ``PostgresError`` with code `connectionFailed` where the process may have no more threads.
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
            // Waking up without a job is the sign to stop.
            guard let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return }
            job.runSynchronously(on: asUnownedSerialExecutor())
        }
    }
}
