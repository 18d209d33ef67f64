/// How many attempts of one kind are allowed: some at once, and then one in each interval.
///
/// An attempt needs room in every tier. The first tier is the smallest and fills up fastest. When it is empty there is
/// an attempt every half minute, say, and when the second is empty too, one every quarter of an hour.
struct AttemptAllowance: Sendable, Hashable {
    struct Tier: Sendable, Hashable {
        var atOnce: Int
        /// Seconds until one attempt comes back.
        var interval: Double
    }

    /// Part of the names of its keys in Redis.
    let name: String
    let tiers: [Tier]

    init(_ name: String, _ tiers: (Int, every: Double)...) {
        self.name = name
        self.tiers = tiers.map { Tier(atOnce: $0.0, interval: $0.every) }
    }
}

/// What is attempted. Each purpose has an allowance of its own, so that none is used up by another.
enum AttemptPurpose: String, Sendable, CaseIterable {
    case login, register, apple, forgot, reset, passwordChange, code, undo
}

extension AttemptAllowance {
    /// For one address and all users. Generous, since thousands of phones share a carrier's address; small where messages
    /// are sent.
    static func address(_ purpose: AttemptPurpose) -> AttemptAllowance {
        switch purpose {
        case .forgot: AttemptAllowance("forgot:address", (30, every: 120))
        case .login, .register, .apple, .reset, .passwordChange, .code, .undo:
            AttemptAllowance("\(purpose.rawValue):address", (600, every: 0.2))
        }
    }

    /// Wrong passwords for one identifier from one network.
    static let loginFromNetwork = AttemptAllowance("login:network", (10, every: 30), (30, every: 900))
    /// Wrong passwords for one identifier from everywhere except known devices. It limits a stranger who has many
    /// networks.
    static let loginFromAnywhere = AttemptAllowance("login:anywhere", (300, every: 180))
    /// Wrong passwords on a device on which the user has signed in before.
    static let loginOnKnownDevice = AttemptAllowance("login:device", (10, every: 30), (30, every: 900))
    /// Wrong current passwords of somebody who is signed in.
    static let passwordChange = AttemptAllowance("passwordChange:account", (10, every: 30), (30, every: 900))
    /// Registrations of one identifier from one network.
    static let registration = AttemptAllowance("register:network", (10, every: 30), (30, every: 900))
    /// Messages to one identifier: three an hour at first, then six a day.
    static let messages = AttemptAllowance("forgot:identifier", (3, every: 1200), (6, every: 14_400))

    /// Messages to all users together.
    static func allMessages(perHour count: Int) -> AttemptAllowance {
        AttemptAllowance("forgot:all", (count, every: 3600 / Double(count)))
    }
}
