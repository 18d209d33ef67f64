import Metrics

/// `tokens_refresh_total` by outcome.
struct RefreshMetrics: Sendable {
    private let outcomes: [String: Counter]

    init() {
        let names =
            ["rotated", "repeated", "lateReplay", "tryLater", "abandoned", "overloaded", "broken"]
            + RotationDecision.Theft.allCases.map { "theft." + $0.rawValue }
            + RotationDecision.Refusal.allCases.map { "refused." + $0.rawValue }
        outcomes = Dictionary(
            uniqueKeysWithValues: names.map { name in
                (name, Counter(label: "tokens_refresh_total", dimensions: [("outcome", name)]))
            })
    }

    func count(_ outcome: String) {
        outcomes[outcome]?.increment()
    }
}
