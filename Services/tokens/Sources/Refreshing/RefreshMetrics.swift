import Instruments

/// `tokens_refresh_total` by outcome.
struct RefreshMetrics: Sendable {
    enum Outcome: String, CaseIterable {
        case rotated
        case repeated
        case lateReplay
        case tryLater
        case abandoned
        case overloaded
        /// A session has refreshed more often than its limit allows.
        case limited
        /// More tokens came under unknown keys than are looked up.
        case unknownKeyLimited = "strangersLimited"
        /// A successor that could not be opened.
        case broken
        case theftByOlderToken = "theft.olderToken"
        case theftByLateReplay = "theft.lateReplay"
        case malformed = "refused.malformed"
        case forged = "refused.forged"
        case unknownSession = "refused.unknownSession"
        case expired = "refused.expired"
        case forked = "refused.forked"
        case unproven = "refused.unproven"
    }

    private let counters: [Outcome: Counter]

    init(factory: (any MetricsFactory)? = nil) {
        counters = Dictionary(
            uniqueKeysWithValues: Outcome.allCases.map { outcome in
                let counter = Counter(
                    "tokens_refresh_total", help: "Refreshes, by what became of them.",
                    labels: [("outcome", outcome.rawValue)], factory: factory)
                return (outcome, counter)
            })
    }

    func count(_ outcome: Outcome) {
        counters[outcome]?.increment()
    }
}

extension RefreshMetrics.Outcome {
    init(_ theft: RotationDecision.Theft) {
        self =
            switch theft {
            case .olderToken: .theftByOlderToken
            case .lateReplay: .theftByLateReplay
            }
    }

    init(_ refusal: RotationDecision.Refusal) {
        self =
            switch refusal {
            case .malformed: .malformed
            case .forged: .forged
            case .unknownSession: .unknownSession
            case .expired: .expired
            case .forked: .forked
            case .unproven: .unproven
            }
    }
}

extension RefreshKeyRing {
    /// Tells which keys this replica has. Their file does not say how old they are.
    func registerMetrics() {
        for id in ids {
            Gauge(
                "tokens_refresh_key_info",
                help: "1 for each key for refresh tokens, by what this replica does with it.",
                labels: [("key", "\(id)"), ("use", id == minting.id ? "minting" : "verifying")]
            ).set(1)
        }
    }
}
