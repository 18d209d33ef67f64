import GatehouseInstruments
import GatehouseServiceKit
package import Logging
import ServiceLifecycle
import Synchronization

/// Carries out the tasks of the outbox. Failed tasks are retried without limit.
package final class OutboxWorker: Service, Sendable {
    private let delivery: OutboxDelivery
    private let afterTask: @Sendable () -> Void
    private let logger: Logger
    private let queues: [Queue]
    private let failures = Counter(
        "identity_outbox_failed_total", help: "Attempts to carry out a task of the outbox that failed.")
    private let claimFailures = Counter(
        "identity_outbox_claim_failed_total", help: "Attempts to read the outbox that failed.")
    private let backlog: OutboxMetrics

    /// The queue of the tasks for one destination. The queues are independent of each other.
    private final class Queue: Sendable {
        let destination: OutboxDestination
        let wakeUps: AsyncStream<Void>
        let wakeUp: AsyncStream<Void>.Continuation
        private let permits = Mutex(OutboxPermits())

        init(_ destination: OutboxDestination) {
            self.destination = destination
            (wakeUps, wakeUp) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        }

        var free: Int { permits.withLock { $0.findFree() } }

        func take(_ count: Int, of limit: Int) {
            permits.withLock { $0.take(count, of: limit) }
        }

        func release() {
            if permits.withLock({ $0.release() }) { wakeUp.yield() }
        }
    }

    /// - Parameter afterTask: called after each attempt to carry out a task.
    package init(_ delivery: OutboxDelivery, logger: Logger, afterTask: @escaping @Sendable () -> Void = {}) {
        self.delivery = delivery
        self.afterTask = afterTask
        self.logger = logger
        queues = delivery.destinations.map(Queue.init)
        backlog = OutboxMetrics(delivery.destinations)
    }

    /// Reads the outbox now, because a task was enqueued.
    package func wake() {
        for queue in queues { queue.wakeUp.yield() }
    }

    /// Reads the outbox for the destinations with due tasks. If PostgreSQL is unavailable, each queue finds that out.
    /// - Returns: how long until it has to be read again.
    private func wakeDue() async -> Duration {
        guard let waits = try? await delivery.waits() else {
            wake()
            return OutboxSchedule.retry
        }
        for queue in queues where waits[queue.destination] == .zero { queue.wakeUp.yield() }
        return OutboxSchedule.pause(before: waits.values.min())
    }

    /// Ends when the service shuts down and the tasks in progress are done. An authorization code is single-use:
    /// stopping during its exchange would lose the refresh token. Every task has a deadline of its own.
    func run() async throws {
        await withDiscardingTaskGroup { group in
            group.addTask {
                await cancelWhenGracefulShutdown {
                    await Periodic(every: OutboxSchedule.rest, wakeUps: self.delivery.retimed).run {
                        .after(await self.wakeDue())
                    }
                }
                for queue in self.queues { queue.wakeUp.finish() }
            }
            group.addTask {
                await cancelWhenGracefulShutdown {
                    await Periodic(every: OutboxMetrics.interval).run {
                        // While PostgreSQL is unavailable, `identity_outbox_claim_failed_total` shows it.
                        self.backlog.record(try await self.delivery.backlog())
                        return .afterInterval
                    }
                }
            }
            for queue in self.queues {
                group.addTask { await self.deliverDue(from: queue) }
            }
        }
    }

    /// Within ``run()``: whether to claim no further task.
    private var isStopping: Bool {
        Task.isCancelled || Task.isShuttingDownGracefully
    }

    /// Carries out the queue's due tasks whenever it is woken up. A task that has ended makes room for the next one, so
    /// a slow task delays no other while a permit is free.
    private func deliverDue(from queue: Queue) async {
        await withDiscardingTaskGroup { group in
            for await _ in queue.wakeUps {
                while !isStopping {
                    let free = queue.free
                    guard free > 0 else { break }
                    let entries = await claim(for: queue.destination, limit: free)
                    queue.take(entries.count, of: free)
                    for entry in entries {
                        group.addTask {
                            await self.deliverOrPostpone(entry)
                            queue.release()
                        }
                    }
                    if entries.count < free { break }
                }
            }
        }
    }

    /// - Returns: no tasks where the outbox cannot be read.
    private func claim(for destination: OutboxDestination, limit: Int) async -> [OutboxEntry] {
        do {
            return try await delivery.claim(for: destination, limit: limit)
        } catch {
            // Stopping the service cancels a claim in progress. That is not a failure.
            if !Task.isCancelled {
                claimFailures.increment()
                logger.warning(
                    "The outbox could not be read",
                    metadata: ["destination": "\(destination.name)", "error": "\(error)"])
            }
            return []
        }
    }

    private func deliverOrPostpone(_ entry: OutboxEntry) async {
        defer { afterTask() }
        var metadata: Logger.Metadata = [
            "task": "\(entry.kind)", "id": "\(entry.id)", "attempts": "\(entry.attempts)",
        ]
        do {
            return try await delivery.deliver(entry)
        } catch let error as UnreadableOutboxTask {
            metadata["error"] = "\(error.reason)"
            logger.error("An outbox task cannot be read by this version and stays", metadata: metadata)
        } catch {
            metadata["error"] = "\(error)"
            logger.warning("An outbox task failed and will be tried again", metadata: metadata)
        }
        failures.increment()
        let delay = OutboxSchedule.delay(after: entry.attempts, spread: .random(in: 0...1))
        // If this fails, the task is due again when its claim expires.
        try? await delivery.postpone(entry, seconds: delay)
    }
}

/// The waiting tasks of the outbox, by destination.
struct OutboxMetrics: Sendable {
    /// How often the tasks are counted.
    static let interval = Duration.seconds(10)

    private let gauges: [OutboxDestination: (count: Gauge, age: Gauge)]

    init(_ destinations: [OutboxDestination]) {
        gauges = Dictionary(
            uniqueKeysWithValues: destinations.map { destination in
                let labels = [("destination", destination.name)]
                let count = Gauge(
                    "identity_outbox_tasks",
                    help: "Tasks in the outbox, counted up to \(OutboxStore.mostCounted) for each destination.",
                    labels: labels)
                let age = Gauge(
                    "identity_outbox_oldest_task_age_seconds",
                    help: "Age of the oldest of the tasks that are counted; 0 where there is none.", labels: labels)
                return (destination, (count, age))
            })
    }

    func record(_ backlog: [OutboxDestination: OutboxBacklog]) {
        for (destination, gauges) in gauges {
            gauges.count.set(backlog[destination]?.count ?? 0)
            gauges.age.set(backlog[destination]?.age ?? 0)
        }
    }
}
