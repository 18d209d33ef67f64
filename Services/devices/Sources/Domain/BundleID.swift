/// An app's bundle identifier, which APNs takes as topic: ASCII letters, digits, hyphens, and single periods between.
enum BundleID {
    /// Apple's own limit.
    static let maximumLength = 155

    static func isValid(_ text: String) -> Bool {
        guard text.utf8.count <= maximumLength else { return false }
        return text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { part in
            !part.isEmpty && part.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || $0 == UInt8(ascii: "-") }
        }
    }
}
