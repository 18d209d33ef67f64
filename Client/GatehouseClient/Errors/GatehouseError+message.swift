extension GatehouseError {
    /// A sentence for a person, in English, Hebrew, Russian or Arabic.
    ///
    /// - Parameter language: as in `en`, `he-IL`, `ar_EG`; by default the app's own, as the system has chosen it for
    ///   the user (``AppLanguage/current``). English where there is no sentence.
    public func message(in language: String? = nil) -> String {
        let languages = [language ?? AppLanguage.current]
        let catalogue = MessageCatalogue.shared
        return code.flatMap { catalogue.message(for: $0, in: languages) }
            ?? catalogue.message(for: kind.description, in: languages)
            ?? catalogue.message(for: Kind.server.description, in: languages) ?? kind.description
    }
}
