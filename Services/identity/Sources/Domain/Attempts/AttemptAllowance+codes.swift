/// Codes that are asked for, sent and tried.
///
/// A code can be tried five times (``CodeRules``). With 22 codes on the first day and 12 on each that follows, one
/// identifier's codes can be guessed at 110 times on the first day, and then 60 times a day; wrong guesses are held to
/// 54 and 24 by ``codeFromAnywhere``. One in a million is right.
extension AttemptAllowance {
    /// Codes that one network asks for, for all identifiers: mails.
    static let codeMailsFromNetwork = AttemptAllowance("code:mail:network", (60, every: 30))
    /// The same for text messages, which cost money.
    static let codeTextsFromNetwork = AttemptAllowance("code:phone:network", (20, every: 180))
    /// Codes that one network asks for, for one identifier: three an hour at first, then six a day.
    static let codesForOneFromNetwork = AttemptAllowance(
        "code:identifier:network", (3, every: 1200), (6, every: 14_400))
    /// Codes that are asked for from everywhere for one identifier, except on known devices.
    static let codesForOne = AttemptAllowance("code:identifier", (10, every: 7200))
    /// Codes that are asked for on a device on which the user has signed in before.
    static let codesOnKnownDevice = AttemptAllowance("code:device", (3, every: 1200), (6, every: 14_400))

    /// Wrong codes for one identifier from one network.
    static let codeFromNetwork = AttemptAllowance("code:guess:network", (10, every: 3600))
    /// Wrong codes for one identifier from everywhere, except on known devices.
    static let codeFromAnywhere = AttemptAllowance("code:guess:anywhere", (30, every: 3600))
    /// Wrong codes on a device on which the user has signed in before.
    static let codeOnKnownDevice = AttemptAllowance("code:guess:device", (10, every: 3600))

    /// What limits messages to all users together: mails, text messages, and the halves of both for whoever has no
    /// account, so that strangers do not use up what users need.
    static func codes(within budget: MessageBudget) -> [AttemptAllowance] {
        [
            allCodes(to: .email, isKnown: true, within: budget), allCodes(to: .email, isKnown: false, within: budget),
            allCodes(to: .phone, isKnown: true, within: budget), allCodes(to: .phone, isKnown: false, within: budget),
            textsToCountry(within: budget),
        ]
    }

    /// - Parameter isKnown: `false`: those to identifiers that no account has.
    static func allCodes(to kind: Identifier.Kind, isKnown: Bool, within budget: MessageBudget) -> AttemptAllowance {
        let all = kind == .email ? budget.mailsPerHour : budget.textsPerHour
        let count = isKnown ? all : max(1, all / 2)
        return AttemptAllowance(
            "code:\(kind.rawValue):\(isKnown ? "all" : "new")", (count, every: 3600 / Double(count)))
    }

    /// Text messages to the numbers of one country.
    static func textsToCountry(within budget: MessageBudget) -> AttemptAllowance {
        let count = budget.textsPerCountryPerHour
        return AttemptAllowance("code:country", (count, every: 3600 / Double(count)))
    }
}
