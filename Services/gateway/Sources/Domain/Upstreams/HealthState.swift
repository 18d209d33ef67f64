/// What the health checks of one address say: it is up until they say otherwise.
struct HealthState: Sendable, Equatable {
    /// Results in a row that are needed to change `isUp`. One may be chance.
    static let evidence = 2

    private(set) var isUp = true
    /// Results in a row that contradict `isUp`.
    private var doubts = 0

    /// - Returns: whether `isUp` has changed.
    mutating func checked(passed: Bool) -> Bool {
        guard passed != isUp else {
            doubts = 0
            return false
        }
        doubts += 1
        guard doubts == Self.evidence else { return false }
        self = HealthState(isUp: passed)
        return true
    }

    /// Until the next check: sooner where the last one gave reason to doubt.
    ///
    /// - Parameter chance: from 0 to 1, so that replicas of the gateway do not ask all at once.
    func pause(_ interval: Duration, chance: Double) -> Duration {
        (doubts > 0 ? interval / 4 : interval) * (0.8 + 0.4 * chance)
    }

    init() {}

    private init(isUp: Bool) { self.isUp = isUp }
}
