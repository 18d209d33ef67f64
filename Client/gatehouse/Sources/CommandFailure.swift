import Foundation
import GatehouseClient
import GatehouseServiceContracts

/// Why a command failed, as printed on standard error.
struct CommandFailure: Error, Sendable, Equatable {
    var status: ExitStatus
    /// A text for the user.
    var message: String
    /// Further lines.
    var details: [String] = []
    /// The server's error code, or this library's.
    var code: String?
    /// The id with which operators find the request.
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

    /// The text on standard error for a user.
    var text: String {
        var lines = ["gatehouse: \(message)"] + details.map { "  \($0)" }
        if let retryAfter { lines.append("  Try again in \(retryAfter) s.") }
        if let requestID { lines.append("  Request \(requestID)") }
        return lines.map { Printable.clean($0) }.joined(separator: "\n")
    }

    /// The text on standard error for a script.
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

/// Exit statuses, from BSD's `sysexits.h`.
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
    /// Ctrl-C, as shells report it.
    static let interrupted = Self(number: 130)

    /// The exit status for the response to a `call`.
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
