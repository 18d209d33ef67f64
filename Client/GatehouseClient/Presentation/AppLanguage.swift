public import Foundation

/// The language in which an app speaks: its screens and its messages alike.
///
/// It is the app's, not the device's: in an app that is in English alone nobody reads Hebrew here and English there,
/// whatever the device speaks.
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
