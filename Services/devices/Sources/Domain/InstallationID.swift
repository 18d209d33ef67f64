/// What an app calls its own installation, most often a UUID.
enum InstallationID {
    static let maximumLength = 128

    static func isValid(_ text: String) -> Bool {
        (1...maximumLength).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
