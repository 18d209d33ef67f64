/// What a user may do in the team's own services; Gatehouse itself only carries it, and knows that of its operators.
struct Role: Hashable, Sendable {
    let name: String

    /// What everybody who registers is.
    static let user = Role(unchecked: "user")
    /// Who may administer users, unless the team names another.
    static let `operator` = Role(unchecked: "operator")

    /// - Parameter name: a lower-case letter, then up to 31 of `a–z 0–9 _ -`: it stands in access tokens and headers.
    init(_ name: String) throws(Refusal) {
        let scalars = name.unicodeScalars
        guard (1...32).contains(scalars.count), let first = scalars.first, ("a"..."z").contains(first),
            scalars.allSatisfy({
                ("a"..."z").contains($0) || ("0"..."9").contains($0) || $0 == "_" || $0 == "-"
            })
        else {
            throw Refusal("A role is a lower-case letter and up to 31 letters, digits, _ or -.")
        }
        self.name = name
    }

    /// The role of those who may administer users.
    init(ofOperators name: String) throws(Refusal) {
        try self.init(name)
        guard self != .user else { throw Refusal("Everybody who registers has the role \(name).") }
    }

    private init(unchecked name: String) {
        self.name = name
    }
}
