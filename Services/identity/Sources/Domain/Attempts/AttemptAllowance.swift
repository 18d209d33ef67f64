/// How many attempts of one kind somebody has, a few at once and then one by one.
///
/// There must be room in every tier. The first is used up soonest and fills soonest, so whoever goes on after it waits
/// longer for each attempt, and longer still after the next: half a minute, then a quarter of an hour.
struct AttemptAllowance: Sendable, Hashable {
    struct Tier: Sendable, Hashable {
        var atOnce: Int
        /// Seconds until one attempt comes back.
        var interval: Double
    }

    /// What stands before its keys in Redis.
    let name: String
    let tiers: [Tier]

    private init(_ name: String, _ tiers: (Int, every: Double)...) {
        self.name = name
        self.tiers = tiers.map { Tier(atOnce: $0.0, interval: $0.every) }
    }
}

/// What is attempted. Each has allowances of its own, so that none can be used up by way of another.
enum AttemptPurpose: String, Sendable, CaseIterable {
    case login, register, apple, forgot, reset, passwordChange
}

extension AttemptAllowance {
    /// Of an address, whoever is meant. Generous, since thousands of phones share one carrier's, but for what sends
    /// messages.
    static func address(_ purpose: AttemptPurpose) -> AttemptAllowance {
        switch purpose {
        case .forgot: AttemptAllowance("forgot:address", (30, every: 120))
        case .login, .register, .apple, .reset, .passwordChange:
            AttemptAllowance("\(purpose.rawValue):address", (600, every: 0.2))
        }
    }

    /// Wrong passwords for one identifier from one network.
    static let loginFromNetwork = AttemptAllowance("login:network", (10, every: 30), (30, every: 900))
    /// Wrong passwords for one identifier from everywhere but known devices: what is left to somebody who has many
    /// networks.
    static let loginFromAnywhere = AttemptAllowance("login:anywhere", (300, every: 180))
    /// Wrong passwords on a device on which the account was signed in to before.
    static let loginOnKnownDevice = AttemptAllowance("login:device", (10, every: 30), (30, every: 900))
    /// Wrong current passwords of somebody who is signed in.
    static let passwordChange = AttemptAllowance("passwordChange:account", (10, every: 30), (30, every: 900))
    /// Registrations of one identifier from one network.
    static let registration = AttemptAllowance("register:network", (10, every: 30), (30, every: 900))
    /// Messages to one identifier: three an hour at first, then six a day.
    static let messages = AttemptAllowance("forgot:identifier", (3, every: 1200), (6, every: 14_400))

    /// Messages to everybody together.
    static func allMessages(perHour count: Int) -> AttemptAllowance {
        AttemptAllowance("forgot:all", (count, every: 3600 / Double(count)))
    }
}
