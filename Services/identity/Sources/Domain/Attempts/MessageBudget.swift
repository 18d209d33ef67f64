/// How many messages with codes are sent to all users together, within an hour. Text messages cost much more than mails.
struct MessageBudget: Sendable {
    var mailsPerHour = 600
    var textsPerHour = 60
    /// To the numbers of one country.
    var textsPerCountryPerHour = 30
}
