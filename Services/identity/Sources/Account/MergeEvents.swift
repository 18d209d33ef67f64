import Contracts

extension AuditEvent {
    /// The account was merged into another one of the same person, which the entry names.
    static let merged = Self("merged", published: .userMerged)
    /// Another account was merged into this one.
    static let absorbed = Self("absorbed", published: .userUpdated)

    static let ofMerging = [merged, absorbed]
}

extension AuditedAttempt.Action {
    static let merge = Self(name: "merge", refusal: .forbidden)
}
