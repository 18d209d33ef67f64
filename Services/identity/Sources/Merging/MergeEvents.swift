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

extension MessageKind {
    /// Reports that another account was merged with the account, and how to undo that.
    static let accountsMerged = MessageKind(
        "accountsMerged", isSecurityNotice: true, required: .link, allowed: [.link, .app, .days],
        templates: [
            "en": PackageResources.accountsMerged_en_txt, "he": PackageResources.accountsMerged_he_txt,
            "ru": PackageResources.accountsMerged_ru_txt, "ar": PackageResources.accountsMerged_ar_txt,
        ])

    static let ofMerging = [accountsMerged]
}
