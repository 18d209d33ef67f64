/// What Apple calls people when an app goes from one team to another.
struct TeamTransfers: Sendable {
    /// A person as both teams know one.
    struct Passage: Sendable {
        /// By which both know the person.
        var transferSub: String
        var recipient: String
        /// The recipient's own names.
        var sub: String
        var email: String?
    }

    private var passages: [String: Passage] = [:]

    /// The person's names for the recipient, the same whenever they are asked for.
    mutating func passage(
        of grant: Grant, to recipient: String, newSubject: () -> String, newEmail: () -> String
    ) -> Passage {
        let key = "\(grant.sub) \(recipient)"
        if let known = passages[key] { return known }
        let passage = Passage(
            transferSub: newSubject(), recipient: recipient, sub: newSubject(),
            email: grant.isPrivateEmail ? newEmail() : nil)
        passages[key] = passage
        return passage
    }

    /// Whom the recipient asks about.
    func passage(by transferSub: String, to recipient: String) -> Passage? {
        passages.values.first { $0.transferSub == transferSub && $0.recipient == recipient }
    }
}

/// What `POST /auth/usermigrationinfo` answers: `transfer_sub` to the team that gives the app away, the others to the
/// team that has it.
struct MigrationResponse: Codable, Sendable {
    var transfer_sub: String?
    var sub: String?
    var email: String?
    var is_private_email: Bool?
}
