/// Text that is kept for people to read, such as a version or a model.
enum Label {
    static let maximumLength = 64

    static func isValid(_ text: String) -> Bool {
        (1...maximumLength).contains(text.unicodeScalars.count)
            && text.unicodeScalars.allSatisfy { scalar in
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: false
                default: true
                }
            }
    }
}
