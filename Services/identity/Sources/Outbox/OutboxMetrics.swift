import Instruments

/// What waits in the outbox, by destination.
struct OutboxMetrics: Sendable {
    /// How often it is counted.
    static let interval = Duration.seconds(10)

    private let gauges: [OutboxDestination: (count: Gauge, age: Gauge)]

    init() {
        gauges = Dictionary(
            uniqueKeysWithValues: OutboxDestination.allCases.map { destination in
                let labels = [("destination", destination.rawValue)]
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
