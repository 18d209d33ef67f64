/// The identifiers of people when an app moves from one team to another.
struct TeamTransfers: Sendable {
    /// A person's identifiers for both teams.
    struct Transfer: Sendable {
        /// The identifier that both teams know.
        var transferSub: String
        var recipient: String
        /// The recipient's own identifier and address of the person.
        var sub: String
        var email: String?
    }

    private var transfers: [String: Transfer] = [:]

    /// Returns the person's identifiers for the recipient, the same for every request.
    mutating func transfer(
        of grant: Grant, to recipient: String, newSubject: () -> String, newEmail: () -> String
    ) -> Transfer {
        let key = "\(grant.sub) \(recipient)"
        if let known = transfers[key] { return known }
        let transfer = Transfer(
            transferSub: newSubject(), recipient: recipient, sub: newSubject(),
            email: grant.isPrivateEmail ? newEmail() : nil)
        transfers[key] = transfer
        return transfer
    }

    /// The person that the recipient's request concerns.
    func transfer(by transferSub: String, to recipient: String) -> Transfer? {
        transfers.values.first { $0.transferSub == transferSub && $0.recipient == recipient }
    }
}

/// The response of `POST /auth/usermigrationinfo`: `transfer_sub` for the team that transfers the app, the other fields
/// for the team that receives it.
struct MigrationResponse: Codable, Sendable {
    var transfer_sub: String?
    var sub: String?
    var email: String?
    var is_private_email: Bool?
}
