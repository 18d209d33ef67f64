/// What a script is told of how a command ended: numbers of BSD's `sysexits.h`, whose meaning is known.
struct ExitStatus: Sendable, Hashable {
    let number: Int32

    static let done = Self(number: 0)
    static let refused = Self(number: 1)
    static let usage = Self(number: 64)
    static let invalidInput = Self(number: 65)
    static let noInput = Self(number: 66)
    static let unavailable = Self(number: 69)
    static let serverFailed = Self(number: 70)
    static let storage = Self(number: 74)
    static let tryLater = Self(number: 75)
    static let notAllowed = Self(number: 77)
    static let notConfigured = Self(number: 78)
    /// By Ctrl-C, as shells count it.
    static let interrupted = Self(number: 130)

    /// For a response to a call of the user's own.
    static func of(httpStatus: Int) -> Self {
        switch httpStatus {
        case 200..<300: .done
        case 401, 403: .notAllowed
        case 429: .tryLater
        case 502, 503, 504: .unavailable
        case 500..<600: .serverFailed
        default: .refused
        }
    }
}
