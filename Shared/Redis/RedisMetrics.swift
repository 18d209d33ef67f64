import CoreMetrics

/// What a client counts (swift-metrics).
struct RedisMetrics: Sendable {
    /// Commands written to a connection, the ones that open it included.
    let commands = Counter(label: "redis_commands_total")
    /// Error answers.
    let errors = Counter(label: "redis_errors_total")
    /// Commands without an answer in time.
    let timeouts = Counter(label: "redis_timeouts_total")
    /// Connections that were opened.
    let connects = Counter(label: "redis_connects_total")
    /// Connections that ended, and attempts that failed, but for a shutdown.
    let connectionFailures = Counter(label: "redis_connection_failures_total")
}
