import Foundation

/// Sentences in several languages, as Xcode keeps them: a string catalogue.
///
/// It is part of the code, so that there is no bundle to be found at run time, nor one that an app could lack.
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
    /// By an error's kind or by the server's code, where that one has a sentence of its own.
    let strings: [String: Entry]

    /// Read when the first error is shown. The tests read it too, so that an app never meets one that cannot be read.
    static let shared: MessageCatalogue = {
        let data = Data(PackageResources.Localizable_xcstrings)
        let catalogue = try? JSONDecoder().decode(Self.self, from: data)
        return catalogue ?? MessageCatalogue(sourceLanguage: "en", strings: [:])
    }()

    /// - Parameter languages: the best first.
    /// - Returns: the sentence in the first language that there is one for, else in the source's; `nil` for an unknown
    ///   key.
    func message(for key: String, in languages: [String]) -> String? {
        guard let entry = strings[key] else { return nil }
        let wanted = languages.map(Self.primarySubtag) + [sourceLanguage]
        return wanted.lazy.compactMap { entry.localizations[$0]?.stringUnit.value }.first
    }

    /// Of `he-IL` the `he`. Older systems call Hebrew `iw`.
    static func primarySubtag(_ language: String) -> String {
        let tag = language.prefix { $0 != "-" && $0 != "_" }.lowercased()
        return tag == "iw" ? "he" : tag
    }
}
