/// Codes and links for new passwords that are asked for, and codes that are tried.
///
/// Two tries of a code are reserved for the device that asked (``CodeRules``), so each code that is sent with them adds
/// two to what can be guessed at one identifier in a day. All others are charged to ``codeFromAnywhere``. Without a known
/// device that is 2 × (3 + 8 + 2) + 6 = 32 comparisons at once, and 2 × (1 + 4 + 4) + 4 = 22 a day after that. One in a
/// million is right.
extension AttemptAllowance {
    /// Codes that one network asks for, for all identifiers: mails.
    static let codeMailsFromNetwork = AttemptAllowance("code:mail:network", (60, every: 30))
    /// The same for text messages, which cost money.
    static let codeTextsFromNetwork = AttemptAllowance("code:phone:network", (20, every: 180))

    /// Wrong codes for one identifier from one network, counted once for each open code that one is compared with.
    static let codeFromNetwork = AttemptAllowance("code:guess:network", (4, every: 28_800))
    /// Wrong codes for one identifier from everywhere, except on known devices.
    static let codeFromAnywhere = AttemptAllowance("code:guess:anywhere", (6, every: 21_600))
    /// Wrong codes on a device on which the user has signed in before.
    static let codeOnKnownDevice = AttemptAllowance("code:guess:device", (5, every: 7200))
    /// The same on all such devices of a user together: a user may have made any number of them.
    static let codeOnKnownDevices = AttemptAllowance("code:guess:devices", (10, every: 3600))

    /// What limits messages to all users together.
    static func codes(within budget: MessageBudget) -> [AttemptAllowance] {
        Identifier.Kind.allCases.flatMap { kind in
            [
                allCodes(to: kind, isKnown: true, within: budget), allCodes(to: kind, isKnown: false, within: budget),
                allNotices(to: kind, within: budget),
            ]
        } + [textsToCountry(within: budget)]
    }

    /// - Parameter isKnown: `false`: those to identifiers that no account has. They have a share, so that strangers do
    ///   not use up what users need.
    static func allCodes(to kind: Identifier.Kind, isKnown: Bool, within budget: MessageBudget) -> AttemptAllowance {
        switch (kind, isKnown) {
        case (.email, true): perHour("code:email:all", budget.mailsPerHour, "IDENTITY_CODE_MAILS_PER_HOUR")
        case (.email, false): perHour("code:email:new", budget.newMailsPerHour, "IDENTITY_CODE_MAILS_TO_NEW_PER_HOUR")
        case (.phone, true): perHour("code:phone:all", budget.textsPerHour, "IDENTITY_CODE_TEXTS_PER_HOUR")
        case (.phone, false): perHour("code:phone:new", budget.newTextsPerHour, "IDENTITY_CODE_TEXTS_TO_NEW_PER_HOUR")
        }
    }

    /// Text messages to the numbers of one country.
    static func textsToCountry(within budget: MessageBudget) -> AttemptAllowance {
        perHour("code:country", budget.textsPerCountryPerHour, "IDENTITY_CODE_TEXTS_PER_COUNTRY_PER_HOUR")
    }

    /// Security notices (``MessageKind/isSecurityNotice``) to all users together. Only a change of an account sends one,
    /// so strangers who ask for codes cannot use this up.
    static func allNotices(to kind: Identifier.Kind, within budget: MessageBudget) -> AttemptAllowance {
        switch kind {
        case .email: perHour("notice:email:all", budget.noticeMailsPerHour, "IDENTITY_NOTICE_MAILS_PER_HOUR")
        case .phone: perHour("notice:phone:all", budget.noticeTextsPerHour, "IDENTITY_NOTICE_TEXTS_PER_HOUR")
        }
    }

    /// Security notices of one kind to one identifier: one account cannot use up what all have.
    static let noticesForOne = AttemptAllowance("notice:identifier", (6, every: 3600))
}

/// What limits the messages of one purpose to one identifier.
///
/// A request is admitted by the first of these that has room. Each is counted apart, so that an attacker who uses one up
/// leaves the others to the user:
///
/// | asks | limited by |
/// |---|---|
/// | a known device | ``onKnownDevice``, ``onKnownDevices`` |
/// | any network | ``fromNetwork``, ``forOne`` |
/// | a network on which the user has signed in before | ``onKnownNetwork``, ``onKnownNetworks`` |
/// | a network that has not used this for the identifier within 30 days | ``firstFromNetwork``, ``firsts`` |
/// | any network, for a code without tries of its own | ``fromNetwork``, ``more`` |
struct MessageAllowances: Sendable {
    /// One network, for one identifier: three an hour at first, then six a day.
    let fromNetwork: AttemptAllowance
    let forOne: AttemptAllowance
    let onKnownDevice: AttemptAllowance
    let onKnownDevices: AttemptAllowance
    let onKnownNetwork: AttemptAllowance
    let onKnownNetworks: AttemptAllowance
    let firstFromNetwork: AttemptAllowance
    let firsts: AttemptAllowance
    let more: AttemptAllowance?

    static let codes = MessageAllowances(
        "code", forOne: (3, 86_400), onKnownNetworks: (2, 21_600), firsts: (8, 21_600), more: (6, 14_400))
    /// A link for a new password cannot be guessed: these limit the number of messages alone.
    static let resets = MessageAllowances(
        "forgot", forOne: (6, 14_400), onKnownNetworks: (4, 14_400), firsts: (8, 21_600), more: nil)

    var all: [AttemptAllowance] {
        [
            fromNetwork, forOne, onKnownDevice, onKnownDevices, onKnownNetwork, onKnownNetworks, firstFromNetwork,
            firsts, more,
        ].compactMap(\.self)
    }

    private init(
        _ name: String, forOne: (Int, Double), onKnownNetworks: (Int, Double), firsts: (Int, Double),
        more: (Int, Double)?
    ) {
        func few(_ part: String) -> AttemptAllowance {
            AttemptAllowance("\(name):\(part)", (3, every: 1200), (6, every: 14_400))
        }
        func total(_ part: String, _ rate: (Int, Double)) -> AttemptAllowance {
            AttemptAllowance("\(name):\(part)", (rate.0, every: rate.1))
        }
        fromNetwork = few("identifier:network")
        onKnownDevice = few("device")
        onKnownNetwork = few("known:network")
        self.forOne = total("identifier", forOne)
        onKnownDevices = total("devices", (6, 7200))
        self.onKnownNetworks = total("known:networks", onKnownNetworks)
        firstFromNetwork = total("first:network", (1, 2_592_000))
        self.firsts = total("first", firsts)
        self.more = more.map { total("more", $0) }
    }
}
