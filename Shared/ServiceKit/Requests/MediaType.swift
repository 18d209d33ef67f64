import Foundation

/// A `Content-Type` of a request, as far as it matters here (RFC 9110 §8.3.1).
struct MediaType {
    private let essence: String
    private let isUTF8: Bool

    /// In bytes. Ours have 50 at most with their parameter.
    private static let maximumLength = 256

    init?(_ field: String?) {
        guard let field, field.utf8.count <= Self.maximumLength else { return nil }
        // What nearly all send.
        if field == "application/json" {
            (essence, isUTF8) = (field, true)
            return
        }
        let parts = field.split(separator: ";", omittingEmptySubsequences: false).map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        essence = parts[0].lowercased()
        isUTF8 = parts.dropFirst().allSatisfy { parameter in
            let pair = parameter.lowercased().split(separator: "=", maxSplits: 1)
            guard pair.first == "charset" else { return true }
            return pair.count == 2 && ["utf-8", "\"utf-8\""].contains(pair[1])
        }
    }

    var isJSON: Bool { essence == "application/json" && isUTF8 }
    var isForm: Bool { essence == "application/x-www-form-urlencoded" && isUTF8 }
}
