/// How many messages are sent to all users together, within an hour. Text messages cost much more than mails.
struct MessageBudget: Sendable {
    var mailsPerHour = 600
    var textsPerHour = 60
    /// Of these, to identifiers that no account has.
    var newMailsPerHour = 300
    var newTextsPerHour = 30
    /// To the numbers of one country.
    var textsPerCountryPerHour = 30
    /// Security notices, which are counted apart from codes.
    var noticeMailsPerHour = 600
    var noticeTextsPerHour = 60
    /// Links for new passwords.
    var resetsPerHour = 600
}
