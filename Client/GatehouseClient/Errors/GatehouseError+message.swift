import Foundation

extension GatehouseError {
    /// A sentence for a person, in English, Hebrew, Russian or Arabic.
    ///
    /// - Parameter language: as in `en`, `he-IL`, `ar_EG`; by default the first of the user's languages that there is
    ///   one for. English where there is none.
    public func message(in language: String? = nil) -> String {
        let languages = language.map { [$0] } ?? Locale.preferredLanguages
        let catalogue = MessageCatalogue.shared
        return code.flatMap { catalogue.message(for: $0, in: languages) }
            ?? catalogue.message(for: kind.description, in: languages)
            ?? catalogue.message(for: Kind.server.description, in: languages) ?? kind.description
    }
}
