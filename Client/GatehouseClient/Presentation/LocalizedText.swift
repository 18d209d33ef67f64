import Foundation

/// A text for users: English in the code, so that a program that is copied without its resources has it, and other
/// languages in `Resources`.
///
/// An app replaces a text in its own table `Gatehouse.strings`, in the folder of the language, by the same key.
struct LocalizedText {
    let key: String
    let english: String

    /// - Parameters:
    ///   - language: a language code: `en`, `he-IL`, `ar_EG`.
    ///   - app: the bundle with the app's own texts.
    /// - Returns: the text in English if the language has none.
    func text(in language: String, app: Bundle = .main) -> String {
        let language = Self.primarySubtag(language)
        return text(in: language, of: app, table: "Gatehouse")
            ?? Self.library.flatMap { text(in: language, of: $0, table: "Localizable") } ?? english
    }

    private func text(in language: String, of bundle: Bundle, table: String) -> String? {
        // Foundation takes an empty name for any.
        guard !language.isEmpty, let texts = Self.folder(of: language, in: bundle) else { return nil }
        // A value that no text has: Foundation returns the key in place of an empty one.
        let text = texts.localizedString(forKey: key, value: "\0", table: table)
        return text == "\0" ? nil : text
    }

    /// The folders that have been looked up, `nil` for a missing one. A lookup reads the file system, and a screen has
    /// many texts.
    private static let folders = Locked<[Bundle: [String: Bundle?]]>([:])

    private static func folder(of language: String, in bundle: Bundle) -> Bundle? {
        folders.withLock { folders in
            if let known = folders[bundle]?[language] { return known }
            let folder = bundle.path(forResource: language, ofType: "lproj").flatMap { Bundle(path: $0) }
            folders[bundle, default: [:]][language] = .some(folder)
            return folder
        }
    }

    /// `he` for `he-IL`. Older systems call Hebrew `iw`.
    static func primarySubtag(_ language: String) -> String {
        let tag = language.prefix { $0 != "-" && $0 != "_" }.lowercased()
        return tag == "iw" ? "he" : tag
    }

    /// The library's resources: in the app, in the framework that contains the library, or beside the program. `nil` if
    /// they are missing, where SwiftPM's `Bundle.module` would end the process.
    static let library: Bundle? = {
        #if canImport(Darwin)
            let name = "gatehouse-swift_GatehouseClient.bundle"
        #else
            let name = "gatehouse-swift_GatehouseClient.resources"
        #endif
        let code = Bundle(for: Code.self)
        let folders = [Bundle.main.resourceURL, code.resourceURL, Bundle.main.bundleURL, code.bundleURL]
        return folders.lazy.compactMap { $0.flatMap { Bundle(url: $0.appendingPathComponent(name)) } }.first
    }()

    /// Shows which bundle contains this code.
    private final class Code {}
}
