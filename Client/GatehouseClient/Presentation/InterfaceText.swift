public import Foundation

/// The texts of GatehouseUI's screens. Each raw value is a key in `Interface.xcstrings`.
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
    /// Contains the minimum length.
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
    /// Any other reason.
    case ended = "ended.other"
    case tryAgain = "common.tryAgain"
    case ok = "common.ok"

    /// Loaded with the first text. The tests load it too, so an unreadable catalogue cannot be released.
    static let catalogue: MessageCatalogue = {
        let data = Data(PackageResources.Interface_xcstrings)
        let catalogue = try? JSONDecoder().decode(MessageCatalogue.self, from: data)
        return catalogue ?? MessageCatalogue(sourceLanguage: "en", strings: [:])
    }()

    /// Returns the text in English, Hebrew, Russian or Arabic; in English for any other language.
    ///
    /// - Parameters:
    ///   - language: a language code: `en`, `he-IL`, `ar_EG`.
    ///   - number: the number in the text, if it has one.
    public func text(in language: String, number: Int? = nil) -> String {
        let text = Self.catalogue.message(for: rawValue, in: [language]) ?? rawValue
        return number.map { text.replacingOccurrences(of: "%d", with: "\($0)") } ?? text
    }

    /// Whether a language is written from right to left.
    public static func isRightToLeft(_ language: String) -> Bool {
        ["ar", "he"].contains(MessageCatalogue.primarySubtag(language))
    }
}

/// The language of an app's screens and messages.
///
/// The app's localizations limit the choice. An app in English only shows no Hebrew text on a device that is set to
/// Hebrew.
public enum AppLanguage {
    /// The languages with texts.
    static let known: Set<String> = ["en", "he", "ru", "ar"]

    /// The first of the app's languages, in the system's order for the user, that has texts, as in `he`. English if
    /// there is none.
    public static var current: String { first(of: Bundle.main.preferredLocalizations) }

    /// The language of a screen: the app's own `.environment(\.locale, …)`, otherwise ``current``.
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
    /// The explanation on the sign-in screen. `nil` if the user signed out here.
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
