/// When a task that failed is tried again.
enum OutboxSchedule {
    /// Seconds until the next attempt: doubling from half a second to five minutes, and spread, so that tasks that
    /// failed together are not tried again together.
    /// - Parameters:
    ///   - attempts: how many have been made.
    ///   - spread: from 0 to 1, at random.
    static func delay(after attempts: Int, spread: Double) -> Double {
        let delay = min(0.5 * Double(1 << min(max(attempts - 1, 0), 12)), 300)
        return delay * (0.75 + 0.5 * spread)
    }
}
