import Foundation

/// A name and a secret as a caller shows them by Basic (RFC 7617).
struct BasicCredential: Sendable, Equatable {
    var name: String
    var secret: String

    init?(_ authorization: String?) {
        guard let parts = authorization?.split(separator: " ", maxSplits: 1), parts.count == 2,
            parts[0].lowercased() == "basic",
            let pair = Data(base64Encoded: parts[1].trimmingCharacters(in: .whitespaces)),
            let text = String(validating: pair, as: UTF8.self), let colon = text.firstIndex(of: ":")
        else { return nil }
        name = String(text[..<colon])
        secret = String(text[text.index(after: colon)...])
    }
}
