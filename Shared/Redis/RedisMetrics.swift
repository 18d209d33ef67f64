import Instruments

/// What a client counts.
struct RedisMetrics: Sendable {
    let commands = Counter(
        "redis_commands_total", help: "Commands written to a connection, the ones that open it included.")
    let errors = Counter("redis_errors_total", help: "Error answers.")
    let timeouts = Counter("redis_timeouts_total", help: "Commands without an answer in time.")
    let connects = Counter("redis_connects_total", help: "Connections that were opened.")
    let connectionFailures = Counter(
        "redis_connection_failures_total",
        help: "Connections that ended, and attempts that failed, but for a shutdown.")
}
