import Foundation

/// Messages in several languages, in Xcode's format of a string catalogue.
///
/// The catalogue is compiled in, so an app needs no resource bundle at run time.
struct MessageCatalogue: Sendable, Decodable {
    struct Entry: Sendable, Decodable {
        var localizations: [String: Localization]
    }

    struct Localization: Sendable, Decodable {
        struct Unit: Sendable, Decodable {
            var value: String
        }

        var stringUnit: Unit
    }

    let sourceLanguage: String
    /// Keyed by an error's kind, or by the server's code if that has its own message.
    let strings: [String: Entry]

    /// Loaded with the first message. The tests load it too, so an unreadable catalogue cannot be released.
    static let shared: MessageCatalogue = {
        let data = Data(PackageResources.Localizable_xcstrings)
        let catalogue = try? JSONDecoder().decode(Self.self, from: data)
        return catalogue ?? MessageCatalogue(sourceLanguage: "en", strings: [:])
    }()

    /// - Parameter languages: in order of preference.
    /// - Returns: the message in the first language that has one, otherwise in the source language; `nil` for an
    ///   unknown key.
    func message(for key: String, in languages: [String]) -> String? {
        guard let entry = strings[key] else { return nil }
        let wanted = languages.map(Self.primarySubtag) + [sourceLanguage]
        return wanted.lazy.compactMap { entry.localizations[$0]?.stringUnit.value }.first
    }

    /// `he` for `he-IL`. Older systems call Hebrew `iw`.
    static func primarySubtag(_ language: String) -> String {
        let tag = language.prefix { $0 != "-" && $0 != "_" }.lowercased()
        return tag == "iw" ? "he" : tag
    }
}
