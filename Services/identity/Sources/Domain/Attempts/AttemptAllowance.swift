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
    /// The environment variable that sets it, where it has one of its own.
    let setting: String?

    init(_ name: String, _ tiers: (Int, every: Double)...) {
        self.init(name, tiers: tiers.map { Tier(atOnce: $0.0, interval: $0.every) })
    }

    init(_ name: String, tiers: [Tier], setting: String? = nil) {
        self.name = name
        self.tiers = tiers
        self.setting = setting
    }

    /// Reads `NAME=COUNT/SECONDS`, or several tiers as in `NAME=10/30+30/900`: so many at once, then one in so many
    /// seconds.
    /// - Parameter known: the allowances that there are.
    init(parsing text: String, among known: [AttemptAllowance]) throws(Refusal) {
        let parts = text.split(separator: "=", omittingEmptySubsequences: false)
        guard parts.count == 2, let named = known.first(where: { $0.name.utf8.elementsEqual(parts[0].utf8) }) else {
            throw Refusal("holds \(text), which does not begin with the name of an allowance and =")
        }
        var tiers: [Tier] = []
        for tier in parts[1].split(separator: "+", omittingEmptySubsequences: false) {
            let numbers = tier.split(separator: "/", omittingEmptySubsequences: false)
            guard numbers.count == 2, let count = Int(numbers[0]), (1...1_000_000).contains(count),
                let interval = Double(numbers[1]), (0.001...31_536_000).contains(interval)
            else { throw Refusal("holds \(tier), which is not COUNT/SECONDS") }
            tiers.append(Tier(atOnce: count, interval: interval))
        }
        self.init(named.name, tiers: tiers)
    }

    static func perHour(_ name: String, _ count: Int, _ setting: String) -> AttemptAllowance {
        AttemptAllowance(name, tiers: [Tier(atOnce: count, interval: 3600 / Double(count))], setting: setting)
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
    /// Links for new passwords to all users together.
    static func allResets(within budget: MessageBudget) -> AttemptAllowance {
        perHour("forgot:all", budget.resetsPerHour, "IDENTITY_RESET_MESSAGES_PER_HOUR")
    }
}
