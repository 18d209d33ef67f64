import Instruments

/// What became of messages, by the kind of identifier that they went to.
struct MessageMetrics: Sendable {
    enum Outcome: String, CaseIterable {
        /// Taken over by whoever takes it further.
        case sent
        /// It will never be taken.
        case refused
        /// It was sent, and has come back.
        case bounced
        /// An attempt that is made again.
        case failed
        /// Given up, because it was of no use any more.
        case expired
        /// Not sent, because Apple forwards no mail to that address of a user's.
        case unwanted
    }

    private let counters: [String: Counter]

    init() {
        counters = Dictionary(
            uniqueKeysWithValues: Outcome.allCases.flatMap { outcome in
                Identifier.Kind.allCases.map { kind in
                    let counter = Counter(
                        "identity_messages_total", help: "Messages to users, by what became of them.",
                        labels: [("channel", kind.rawValue), ("outcome", outcome.rawValue)])
                    return (outcome.rawValue + kind.rawValue, counter)
                }
            })
    }

    func count(_ outcome: Outcome, _ kind: Identifier.Kind) {
        counters[outcome.rawValue + kind.rawValue]?.increment()
    }
}
