// Pure: no I/O, no clock.

import Foundation

/// How many attempts of one kind are allowed: a burst at once, and then one per interval.
///
/// An attempt needs room in every tier. The first tier is the smallest and refills fastest. For example, one attempt is
/// allowed every half minute once the first tier is used up, and one every quarter of an hour once the second is used
/// up too.
package struct AttemptAllowance: Sendable, Hashable {
    struct Tier: Sendable, Hashable {
        var atOnce: Int
        /// Seconds until one attempt is available again.
        var interval: Double
    }

    /// Part of the names of its keys in Redis.
    let name: String
    let tiers: [Tier]
    /// The environment variable that sets this allowance, where it has one of its own.
    let setting: String?

    init(_ name: String, _ tiers: (Int, every: Double)...) {
        self.init(name, tiers: tiers.map { Tier(atOnce: $0.0, interval: $0.every) })
    }

    init(_ name: String, tiers: [Tier], setting: String? = nil) {
        self.name = name
        self.tiers = tiers
        self.setting = setting
    }

    /// Reads `NAME=COUNT/SECONDS`, or several tiers as in `NAME=10/30+30/900`: COUNT at once, then one per SECONDS.
    /// - Parameter known: the existing allowances.
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

/// The purpose of an attempt. Each purpose has its own allowance, so that no purpose uses up another's.
package enum AttemptPurpose: String, Sendable, CaseIterable {
    case login, register, apple, forgot, reset, passwordChange, code, undo
}

extension AttemptAllowance {
    /// For one client address and all users. It is generous, because thousands of phones share a carrier's address, but
    /// small where messages are sent.
    static func address(_ purpose: AttemptPurpose) -> AttemptAllowance {
        switch purpose {
        case .forgot: AttemptAllowance("forgot:address", (30, every: 120))
        case .login, .register, .apple, .reset, .passwordChange, .code, .undo:
            AttemptAllowance("\(purpose.rawValue):address", (600, every: 0.2))
        }
    }

    /// Wrong passwords for one identifier from one network.
    static let loginFromNetwork = AttemptAllowance("login:network", (10, every: 30), (30, every: 900))
    /// Wrong passwords for one identifier from all networks, except from known devices. It limits an attacker who has
    /// many networks.
    static let loginFromAnywhere = AttemptAllowance("login:anywhere", (300, every: 180))
    /// Wrong passwords on a device on which the user has signed in before.
    static let loginOnKnownDevice = AttemptAllowance("login:device", (10, every: 30), (30, every: 900))
    /// Wrong current passwords of a signed-in user.
    static let passwordChange = AttemptAllowance("passwordChange:account", (10, every: 30), (30, every: 900))
    /// Registrations of one identifier from one network.
    static let registration = AttemptAllowance("register:network", (10, every: 30), (30, every: 900))
    /// Test pushes of an operator to their own devices.
    static let testPushes = AttemptAllowance("testPush:user", (10, every: 30))
    /// Links for new passwords to all users together.
    static func allResets(_ share: MessageShare, within budget: MessageBudget) -> AttemptAllowance {
        perHour("forgot:\(share.rawValue)", budget.resetsPerHour, "IDENTITY_RESET_MESSAGES_PER_HOUR")
    }
}

/// Codes and links for new passwords that are requested, and codes that are tried.
///
/// Two tries of a code are reserved for the device that requested it, so each code that is sent with them adds
/// two guesses at one identifier in a day. All other tries are charged to ``codeFromAnywhere``. Without a known device
/// that is 2 × (3 + 8 + 2) + 6 = 32 comparisons at once, and 2 × (1 + 4 + 4) + 4 = 22 a day after that. One code in a
/// million is right.
extension AttemptAllowance {
    /// Mails with codes that one network requests, for all identifiers.
    static let codeMailsFromNetwork = AttemptAllowance("code:mail:network", (60, every: 30))
    /// The same for text messages, which cost money.
    static let codeTextsFromNetwork = AttemptAllowance("code:phone:network", (20, every: 180))

    /// Wrong codes for one identifier from one network. A wrong code counts once for each open code that it is compared
    /// with.
    static let codeFromNetwork = AttemptAllowance("code:guess:network", (4, every: 28_800))
    /// Wrong codes for one identifier from all networks, except on known devices.
    static let codeFromAnywhere = AttemptAllowance("code:guess:anywhere", (6, every: 21_600))
    /// Wrong codes on a device on which the user has signed in before.
    static let codeOnKnownDevice = AttemptAllowance("code:guess:device", (5, every: 7200))
    /// The same on all known devices of a user together, because a user may have created any number of them.
    static let codeOnKnownDevices = AttemptAllowance("code:guess:devices", (10, every: 3600))

    /// Limits for messages to all users together.
    static func messages(within budget: MessageBudget) -> [AttemptAllowance] {
        Identifier.Kind.allCases.flatMap { kind in
            MessageShare.allCases.map { allCodes(to: kind, $0, within: budget) }
                + [false, true].map { allNotices(to: kind, withUndo: $0, within: budget) }
        } + MessageShare.allCases.map { textsToCountry($0, within: budget) }
            + [MessageShare.general, .known].map { allResets($0, within: budget) }
    }

    static func allCodes(
        to kind: Identifier.Kind, _ share: MessageShare, within budget: MessageBudget
    ) -> AttemptAllowance {
        let name = "code:\(kind.rawValue):\(share.rawValue)"
        return switch (kind, share) {
        case (.email, .new): perHour(name, budget.newMailsPerHour, "IDENTITY_CODE_MAILS_TO_NEW_PER_HOUR")
        case (.email, _): perHour(name, budget.mailsPerHour, "IDENTITY_CODE_MAILS_PER_HOUR")
        case (.phone, .new): perHour(name, budget.newTextsPerHour, "IDENTITY_CODE_TEXTS_TO_NEW_PER_HOUR")
        case (.phone, _): perHour(name, budget.textsPerHour, "IDENTITY_CODE_TEXTS_PER_HOUR")
        }
    }

    /// Text messages to the numbers of one country.
    static func textsToCountry(_ share: MessageShare, within budget: MessageBudget) -> AttemptAllowance {
        let count = budget.textsPerCountryPerHour
        return perHour(
            share == .general ? "code:country" : "code:country:\(share.rawValue)",
            share == .new ? max(1, count / 2) : count, "IDENTITY_CODE_TEXTS_PER_COUNTRY_PER_HOUR")
    }

    /// Security notices (``MessageKind/isSecurityNotice``) to all users together. Only a change of an account sends
    /// one, so an attacker who requests codes cannot use this up.
    /// - Parameter withUndo: the notices with a link that undoes the change. They are counted apart, because a user can
    ///   cause the other notices at will by changing a password again and again.
    static func allNotices(
        to kind: Identifier.Kind, withUndo: Bool, within budget: MessageBudget
    ) -> AttemptAllowance {
        let name = "notice:\(kind.rawValue):\(withUndo ? "undo" : "all")"
        return switch kind {
        case .email: perHour(name, budget.noticeMailsPerHour, "IDENTITY_NOTICE_MAILS_PER_HOUR")
        case .phone: perHour(name, budget.noticeTextsPerHour, "IDENTITY_NOTICE_TEXTS_PER_HOUR")
        }
    }

    /// Security notices of one kind to one identifier. One account cannot use up the allowance of all users.
    static let noticesForOne = AttemptAllowance("notice:identifier", (6, every: 3600))
}

/// A share of the messages to all users together, by the party that requests them.
enum MessageShare: String, Sendable, CaseIterable {
    /// All requests except those of ``known``.
    case general = "all"
    /// Messages of that share to identifiers that no account has. An attacker can request any number of identifiers.
    case new
    /// Requests from a known device or network of the user who has verified the identifier. They are counted apart, so
    /// an attacker cannot use this share up.
    case known
}

/// The limits on messages of one purpose to one identifier.
///
/// A request is charged to the first row that applies to it and has room, in the order below. The rows are counted
/// apart, so an attacker who uses one up leaves the others to the user.
struct MessageAllowances: Sendable {
    /// A request needs room in both allowances of its row.
    struct Row: Sendable {
        /// For each device or network.
        let one: AttemptAllowance
        /// For all devices or networks together.
        let all: AttemptAllowance
        /// Whether two tries of the code are reserved for the client that requested it.
        var reservesTries = true
    }

    /// For a known device.
    let knownDevice: Row
    /// For any network.
    let anyNetwork: Row
    /// For a network on which the user has signed in before.
    let knownNetwork: Row
    /// For a network that has not used this for the identifier within 30 days.
    let newNetwork: Row
    /// For any network, for a code without tries of its own. Each network is counted as in ``anyNetwork``.
    let withoutTries: Row?
    /// Whether a device or network counts as known only if the user has verified the identifier.
    private let needsVerified: Bool

    /// Each row adds to the number of possible guesses. An attacker who registers another person's address has known
    /// devices, so known devices count only for a verified address.
    static let codes = MessageAllowances(
        "code", anyNetwork: (3, 86_400), knownNetwork: (2, 21_600), newNetwork: (8, 21_600),
        withoutTries: (6, 14_400), needsVerified: true)
    /// A link for a new password cannot be guessed. These allowances only limit the number of messages.
    static let resets = MessageAllowances(
        "forgot", anyNetwork: (6, 14_400), knownNetwork: (4, 14_400), newNetwork: (8, 21_600), withoutTries: nil,
        needsVerified: false)

    /// Whether the device or network counts as known.
    func recognizes(_ origin: KnownOrigin) -> Bool { origin.isVerified || !needsVerified }

    /// The rows after ``anyNetwork`` that apply to a request, in their order.
    /// - Parameter network: the request's network, if the user has signed in there before.
    func furtherRows(for network: KnownOrigin?) -> [Row] {
        let isKnown = network.map(recognizes) ?? false
        return [isKnown ? knownNetwork : nil, newNetwork, withoutTries].compactMap(\.self)
    }

    var all: [AttemptAllowance] {
        [knownDevice, anyNetwork, knownNetwork, newNetwork].flatMap { [$0.one, $0.all] }
            + [withoutTries?.all].compactMap(\.self)
    }

    private init(
        _ name: String, anyNetwork: (Int, Double), knownNetwork: (Int, Double), newNetwork: (Int, Double),
        withoutTries: (Int, Double)?, needsVerified: Bool
    ) {
        /// Three an hour at first, then six a day.
        func few(_ part: String) -> AttemptAllowance {
            AttemptAllowance("\(name):\(part)", (3, every: 1200), (6, every: 14_400))
        }
        func total(_ part: String, _ rate: (Int, Double)) -> AttemptAllowance {
            AttemptAllowance("\(name):\(part)", (rate.0, every: rate.1))
        }
        let network = few("identifier:network")
        knownDevice = Row(one: few("device"), all: total("devices", (6, 7200)))
        self.anyNetwork = Row(one: network, all: total("identifier", anyNetwork))
        self.knownNetwork = Row(one: few("known:network"), all: total("known:networks", knownNetwork))
        self.newNetwork = Row(one: total("first:network", (1, 2_592_000)), all: total("first", newNetwork))
        self.withoutTries = withoutTries.map { Row(one: network, all: total("more", $0), reservesTries: false) }
        self.needsVerified = needsVerified
    }
}

/// Groups client addresses that belong to the same client, so that they are counted together.
package enum ClientNetwork {
    /// A subscriber's IPv6 addresses share their first 64 bits.
    static func subscriber(of address: String) -> String {
        prefix(of: address, groups: 4)
    }

    /// A site's IPv6 addresses share their first 48 bits. Counting them together limits an attacker who has a whole
    /// site. Other users of the site are not affected, because only attempts at one identifier are counted in this way.
    package static func site(of address: String) -> String {
        prefix(of: address, groups: 3)
    }

    private static func prefix(of address: String, groups count: Int) -> String {
        guard address.contains(":"), !address.contains(".") else { return address }
        let halves = address.split(separator: "%")[0].components(separatedBy: "::")
        var groups = halves[0].split(separator: ":").map(String.init)
        if halves.count == 2 {
            let tail = halves[1].split(separator: ":").map(String.init)
            groups += Array(repeating: "0", count: max(0, 8 - groups.count - tail.count)) + tail
        }
        return groups.prefix(count).joined(separator: ":") + "::/\(count * 16)"
    }
}

/// How many messages are sent to all users together, within an hour. Text messages cost much more than mails.
package struct MessageBudget: Sendable {
    /// Codes. Known devices and networks have the same number again (``MessageShare``).
    var mailsPerHour = 600
    var textsPerHour = 60
    /// Codes among those, to identifiers that no account has.
    var newMailsPerHour = 300
    var newTextsPerHour = 30
    /// Texts to the numbers of one country. Half of them may go to identifiers that no account has. Known devices and
    /// networks have the same number again.
    var textsPerCountryPerHour = 30
    /// Security notices, which are counted apart from codes. Notices that undo a change have the same number again.
    var noticeMailsPerHour = 600
    var noticeTextsPerHour = 60
    /// Links for new passwords. Known devices and networks have the same number again.
    var resetsPerHour = 600
}
