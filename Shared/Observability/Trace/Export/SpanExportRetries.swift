/// How often, and when, one batch is sent again. OTLP/HTTP: only where the collector says that it is busy, or where it
/// could not be asked.
struct SpanExportRetries: Sendable {
    enum Step: Equatable {
        case done(rejected: Int)
        case again(after: Duration)
        case drop(SpanDropReason)
    }

    /// Attempts in all. Those who do not get through for so long have a collector that is away: newer spans matter more.
    static let attempts = 5
    static let firstPause = Duration.seconds(1)
    /// No collector decides for how long spans pile up here.
    static let longestPause = Duration.seconds(30)

    private var made = 0

    init() {}

    /// - Parameters:
    ///   - isStopping: whether the process is about to end, and nobody may wait.
    ///   - jitter: 0 to 1, at random, so that replicas that failed together do not come back together.
    mutating func next(after outcome: SpanExportOutcome, isStopping: Bool, jitter: Double) -> Step {
        made += 1
        let pause: Duration?
        let reason: SpanDropReason
        switch outcome {
        case .taken(let rejected): return .done(rejected: rejected)
        case .refused: return .drop(.refused)
        case .busy(let retryAfter): (pause, reason) = (retryAfter, .busy)
        case .unreachable: (pause, reason) = (nil, .unreachable)
        }
        guard made < Self.attempts, !isStopping else { return .drop(reason) }
        let backoff = Self.firstPause * (1 << (made - 1)) * (0.5 + jitter / 2)
        return .again(after: min(pause ?? backoff, Self.longestPause))
    }
}
