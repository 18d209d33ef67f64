/// Something that must never be and yet is.
struct Finding: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }

    /// - Throws: unless `condition` holds.
    static func unless(_ condition: Bool, _ description: @autoclosure () -> String) throws(Finding) {
        guard condition else { throw Finding(description()) }
    }
}

/// What is fed with arbitrary bytes: by `make test` those of the corpus, by `make test-fuzz` what libFuzzer makes of
/// them.
enum FuzzTarget: String, CaseIterable {
    case requestPath = "request-path"
    case token

    /// - Throws: `Finding`, when what the bytes lead to breaks a rule.
    func check(_ bytes: [UInt8]) throws(Finding) {
        switch self {
        case .requestPath: try RequestPathTarget.check(bytes)
        case .token: try TokenTarget.check(bytes)
        }
    }
}
