import Foundation
import GatehouseClient

/// Why a command could not do what it was asked for, as it is told on standard error.
struct CommandFailure: Error, Sendable, Equatable {
    var status: ExitStatus
    /// For a person.
    var message: String
    /// What goes with it, a line each.
    var details: [String] = []
    /// The server's own word, or this library's.
    var code: String?
    /// What the operators need to find the request.
    var requestID: String?
    /// Seconds.
    var retryAfter: Int?

    init(_ status: ExitStatus, _ message: String, details: [String] = [], code: String? = nil) {
        self.status = status
        self.message = message
        self.details = details
        self.code = code
    }

    init(_ error: GatehouseError) {
        self.init(Self.status(of: error.kind), error.message(in: "en"), code: error.code ?? "\(error.kind)")
        details = error.fields.map { "\($0.field): \($0.message)" }
        switch error.kind {
        case .signedOut, .sessionEnded: details.append("Sign in with: gatehouse login")
        case .storage, .misuse, .unavailable: if let reason = error.reason { details.append(reason) }
        default: break
        }
        requestID = error.requestID
        retryAfter = error.retryAfter.map { Int(($0 / .seconds(1)).rounded(.up)) }
    }

    private static func status(of kind: GatehouseError.Kind) -> ExitStatus {
        switch kind {
        case .offline, .timedOut, .unavailable: .unavailable
        case .rateLimited: .tryLater
        case .signedOut, .sessionEnded, .locked, .invalidCredentials, .invalidAppleToken, .accountDisabled,
            .reauthenticationRequired, .forbidden:
            .notAllowed
        case .invalidInput, .weakPassword: .invalidInput
        case .storage: .storage
        case .server, .unreadable: .serverFailed
        case .misuse: .usage
        default: .refused
        }
    }

    /// For a person, on standard error.
    var text: String {
        var lines = ["gatehouse: \(message)"] + details.map { "  \($0)" }
        if let retryAfter { lines.append("  Try again in \(retryAfter) s.") }
        if let requestID { lines.append("  Request \(requestID)") }
        return lines.map { Printable.clean($0) }.joined(separator: "\n")
    }

    /// For a script, on standard error.
    var json: Data {
        get throws {
            try JSON.encode(
                Document(
                    error: Document.Failure(
                        code: code ?? "usage", message: message, details: details, requestId: requestID,
                        retryAfter: retryAfter)))
        }
    }

    private struct Document: Encodable {
        struct Failure: Encodable {
            var code: String
            var message: String
            var details: [String]
            var requestId: String?
            var retryAfter: Int?
        }
        var error: Failure
    }
}

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
