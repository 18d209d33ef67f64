extension MessageKind {
    /// Reports that the identifier it goes to was changed, and how to undo that.
    static let identifierChanged = MessageKind(
        "identifierChanged", isSecurityNotice: true, required: .link, allowed: [.link, .app, .days],
        templates: [
            "en": PackageResources.identifierChanged_en_txt, "he": PackageResources.identifierChanged_he_txt,
            "ru": PackageResources.identifierChanged_ru_txt, "ar": PackageResources.identifierChanged_ar_txt,
        ])
    /// Reports that another user has verified the account's other identifier.
    static let identifierLost = MessageKind(
        "identifierLost", isSecurityNotice: true, allowed: [.app],
        templates: [
            "en": PackageResources.identifierLost_en_txt, "he": PackageResources.identifierLost_he_txt,
            "ru": PackageResources.identifierLost_ru_txt, "ar": PackageResources.identifierLost_ar_txt,
        ])
    /// Reports that another account was merged with the account, and how to undo that.
    static let accountsMerged = MessageKind(
        "accountsMerged", isSecurityNotice: true, required: .link, allowed: [.link, .app, .days],
        templates: [
            "en": PackageResources.accountsMerged_en_txt, "he": PackageResources.accountsMerged_he_txt,
            "ru": PackageResources.accountsMerged_ru_txt, "ar": PackageResources.accountsMerged_ar_txt,
        ])

    static let ofAccountNotices = [identifierChanged, identifierLost, accountsMerged]
}
