/// The shape of a BCP 47 language tag (RFC 5646 §2.1). Whether its subtags are registered is not asked.
enum LanguageTag {
    static let maximumLength = 64

    /// The tag for what `Locale.identifier` and POSIX write: `en_US`, `zh-Hans_CN`, `en_US@calendar=buddhist`,
    /// `de_DE.UTF-8`. What follows the language and its country is no part of a tag.
    static func normalized(_ text: String) -> String {
        let bytes = text.utf8.prefix { $0 != UInt8(ascii: "@") && $0 != UInt8(ascii: ".") }
            .map { $0 == UInt8(ascii: "_") ? UInt8(ascii: "-") : $0 }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func isValid(_ text: String) -> Bool {
        guard text.utf8.count <= maximumLength else { return false }
        let subtags = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard let language = subtags.first, subtags.allSatisfy(isSubtag) else { return false }
        let privateUse = subtags.firstIndex { $0.count == 1 && $0.first.map { $0 | 0x20 } == UInt8(ascii: "x") }
        guard privateUse == 0 || (language.count >= 2 && language.allSatisfy(\.isASCIILetter)) else { return false }
        // A single letter or digit announces an extension, so something must follow; after `x` anything goes.
        return subtags.last?.count != 1 || privateUse.map { $0 < subtags.count - 1 } == true
    }

    private static func isSubtag(_ subtag: Substring.UTF8View) -> Bool {
        (1...8).contains(subtag.count) && subtag.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit }
    }
}
