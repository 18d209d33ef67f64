import Foundation
import ServiceKit

/// A name and a secret as a client shows them by Basic (RFC 7617), each encoded as in a form before (RFC 6749 §2.3.1).
struct BasicCredential: Sendable, Equatable {
    var name: String
    var secret: String

    init?(_ authorization: String?) {
        guard let parts = authorization?.split(separator: " ", maxSplits: 1), parts.count == 2,
            parts[0].lowercased() == "basic",
            let pair = Data(base64Encoded: parts[1].trimmingCharacters(in: .whitespaces)),
            let text = String(validating: pair, as: UTF8.self), let colon = text.utf8.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        guard let name = FormBody.decode(text[..<colon]),
            let secret = FormBody.decode(text[text.utf8.index(after: colon)...])
        else { return nil }
        self.name = name
        self.secret = secret
    }
}
