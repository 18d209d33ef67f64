public import Foundation

/// What the screens of GatehouseUI say, each by its key in `Interface.xcstrings`.
public enum InterfaceText: String, Sendable, CaseIterable {
    case loginTitle = "login.title"
    case identifier = "login.identifier"
    case password = "login.password"
    case signIn = "login.submit"
    case or = "login.or"
    case forgotPassword = "login.forgot"
    case signingIn = "login.working"
    case identifierMissing = "login.fault.identifierMissing"
    case passwordMissing = "login.fault.passwordMissing"
    /// With the smallest count of characters.
    case passwordTooShort = "login.fault.passwordTooShort"
    case signInFailed = "login.failed.title"
    case resetRequested = "login.reset.title"
    case resetMessage = "login.reset.message"
    case resetFailed = "login.reset.failed.title"
    case launching = "launch.working"
    case launchFailed = "launch.failed.title"
    case locked = "unlock.title"
    case unlockReason = "unlock.reason"
    case unlock = "unlock.button"
    case signInInstead = "unlock.signIn"
    case back = "unlock.back"
    case lockedOut = "unlock.lockedOut"
    case biometryUnavailable = "unlock.unavailable"
    case endedByServer = "ended.byServer"
    case endedUnused = "ended.unused"
    case endedElsewhere = "ended.elsewhere"
    case endedAtApple = "ended.apple"
    case endedUnreadable = "ended.unreadable"
    case accountDeleted = "ended.accountDeleted"
    /// Whatever else ended it.
    case ended = "ended.other"
    case tryAgain = "common.tryAgain"
    case ok = "common.ok"

    /// Read when the first text is shown. The tests read it too, so that an app never meets one that cannot be read.
    static let catalogue: MessageCatalogue = {
        let data = Data(PackageResources.Interface_xcstrings)
        let catalogue = try? JSONDecoder().decode(MessageCatalogue.self, from: data)
        return catalogue ?? MessageCatalogue(sourceLanguage: "en", strings: [:])
    }()

    /// In English, Hebrew, Russian or Arabic; in English where the language is another.
    ///
    /// - Parameters:
    ///   - language: as in `en`, `he-IL`, `ar_EG`.
    ///   - number: for a text that has one.
    public func text(in language: String, number: Int? = nil) -> String {
        let text = Self.catalogue.message(for: rawValue, in: [language]) ?? rawValue
        return number.map { text.replacingOccurrences(of: "%d", with: "\($0)") } ?? text
    }

    /// Whether the texts of a language run from right to left.
    public static func isRightToLeft(_ language: String) -> Bool {
        ["ar", "he"].contains(MessageCatalogue.primarySubtag(language))
    }
}

/// The language in which an app speaks: its screens and its messages alike.
///
/// The app's languages decide, not the device's alone. An app that is in English only shows no Hebrew text on a device
/// that is set to Hebrew.
public enum AppLanguage {
    /// What there are texts for.
    static let known: Set<String> = ["en", "he", "ru", "ar"]

    /// Of the app's own languages the first that the system has chosen for the user and that there are texts for, as in
    /// `he`; English where there is none.
    public static var current: String { first(of: Bundle.main.preferredLocalizations) }

    /// The language of a screen: the one that the app has set for it by `.environment(\.locale, …)`, else ``current``.
    public static func of(screen locale: Locale) -> String {
        of(screen: locale, system: .current, localizations: Bundle.main.preferredLocalizations)
    }

    static func of(screen locale: Locale, system: Locale, localizations: [String]) -> String {
        guard locale.identifier != system.identifier, let code = locale.language.languageCode?.identifier else {
            return first(of: localizations)
        }
        return first(of: [code])
    }

    private static func first(of languages: [String]) -> String {
        languages.lazy.map(MessageCatalogue.primarySubtag).first(where: known.contains) ?? "en"
    }
}

extension SignOutReason {
    /// What the screen to sign in says of it. `nil` for who signed out here: they know.
    public var text: InterfaceText? {
        switch self {
        case .user: nil
        case .endedByServer: .endedByServer
        case .expired: .endedUnused
        case .accountDeleted: .accountDeleted
        case .otherProcess: .endedElsewhere
        case .appleCredentialRevoked: .endedAtApple
        case .storeCorrupt: .endedUnreadable
        default: .ended
        }
    }
}
