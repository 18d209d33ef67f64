import GatehouseInstruments

/// `tokens_refresh_total` by outcome.
struct RefreshMetrics: Sendable {
    enum Outcome: String, CaseIterable {
        case rotated
        case repeated
        case lateReplay
        case tryLater
        case abandoned
        case overloaded
        /// The session's row changed in each of several rounds.
        case contended
        case databaseFailed
        /// The session exceeded its limit of refreshes.
        case limited
        /// The limit of lookups for tokens with unknown keys was exceeded. The former name, which alerts use.
        case unknownKeyLimited = "strangersLimited"
        /// The stored successor could not be decrypted.
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
                    "tokens_refresh_total", help: "Refreshes, by outcome.",
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
    /// Registers a metric for each key of this replica. The age of the keys is unknown, because their file omits it.
    func registerMetrics() {
        for id in ids {
            Gauge(
                "tokens_refresh_key_info",
                help: "1 for each key for refresh tokens, by its use in this replica.",
                labels: [("key", "\(id)"), ("use", id == minting.id ? "minting" : "verifying")]
            ).set(1)
        }
    }
}
