public import GatehouseContracts
public import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// An error for an app: decide by ``kind``, show ``message(in:)``, offer "Try Again" if ``retry`` allows it.
public struct GatehouseError: Error, Sendable, Equatable {
    /// New kinds may be added: handle them in a `default` case.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        public let description: String
        /// The message in English.
        let message: String

        init(_ description: String, _ message: String) {
            self.description = description
            self.message = message
        }

        /// No network is available.
        public static let offline = Self(
            "offline", "You appear to be offline. Please check your connection and try again.")
        /// The server did not answer in time.
        public static let timedOut = Self("timedOut", "This is taking longer than expected. Please try again.")
        /// The server cannot be reached, or reports that it is temporarily unavailable. Also if a network's sign-in
        /// page (a captive portal) answers in its place.
        public static let unavailable = Self(
            "unavailable", "The service can’t be reached right now. Please try again in a moment.")
        /// The server has rate-limited the request.
        public static let rateLimited = Self("rateLimited", "Too many attempts. Please wait a moment and try again.")
        /// The calling task was cancelled: show nothing.
        public static let cancelled = Self("cancelled", "This was cancelled.")
        /// No user is signed in.
        public static let signedOut = Self("signedOut", "Please sign in to continue.")
        /// The server has ended the session.
        public static let sessionEnded = Self("sessionEnded", "Your session has ended. Please sign in again.")
        /// A session exists and cannot be read yet.
        public static let locked = Self("locked", "Please unlock to continue.")
        /// This device cannot authenticate its user, so that the session cannot be locked.
        public static let unlockUnavailable = Self(
            "unlockUnavailable", "Please set up Face ID, Touch ID or a passcode on this device first.")
        public static let invalidCredentials = Self(
            "invalidCredentials", "The sign-in details aren’t right. Please check them and try again.")
        /// Apple's identity token has expired or was refused: open the dialog again.
        public static let invalidAppleToken = Self(
            "invalidAppleToken", "Sign in with Apple didn’t finish. Please try again.")
        public static let accountDisabled = Self(
            "accountDisabled", "This account has been disabled. Please contact support.")
        public static let identifierTaken = Self(
            "identifierTaken", "There is already an account with this email address or phone number.")
        public static let weakPassword = Self(
            "weakPassword", "This password is too short or too easy to guess. Please choose a stronger one.")
        /// ``fields`` contains the faults.
        public static let invalidInput = Self(
            "invalidInput", "Some of the details aren’t valid. Please check them and try again.")
        public static let reauthenticationRequired = Self(
            "reauthenticationRequired", "To keep your account safe, please sign in again to continue.")
        public static let forbidden = Self("forbidden", "You don’t have permission to do this.")
        public static let notFound = Self("notFound", "We couldn’t find what you were looking for.")
        /// The server has refused the request for a reason of its own: see ``GatehouseError/status`` and
        /// ``GatehouseError/body``.
        public static let refused = Self("refused", "The request was declined.")
        /// The session could not be saved, or the stored session is damaged.
        public static let storage = Self(
            "storage", "Your sign-in couldn’t be saved or read on this device. Please try again.")
        /// The server failed.
        public static let server = Self("server", "Something went wrong on our side. Please try again.")
        /// The server has fulfilled the request, and this version cannot decode its answer.
        public static let unreadable = Self("unreadable", "The app couldn’t read the answer. An update may help.")
        /// The app made an invalid request: plain HTTP to another machine, or a bearer for a host that may not receive
        /// it.
        public static let misuse = Self("misuse", "The app can’t do this. An update may help.")
    }

    /// Whether and when the app may retry.
    public enum Retry: Sendable, Equatable {
        /// Not before something else has changed.
        case never
        case now
        case after(Duration)
        /// When the network returns.
        case whenOnline
    }

    public let kind: Kind
    /// The server's error code, if it sent one.
    public let code: String?
    /// The id with which operators find the request.
    public let requestID: String?
    /// The invalid fields, with explanations in English.
    public let fields: [Problem.FieldError]
    /// The wait that the server requests.
    public let retryAfter: Duration?
    /// A reason for logs. It contains no secret.
    public let reason: String?
    /// The HTTP status, if there was a response.
    public let status: Int?
    /// The body of the error response, in which a team's own service may explain the error. It is not printed. `nil` if
    /// there was no response, or if the body exceeds ``maximumBodyBytes``.
    public let body: Redacted<Data>?

    /// A longer body is not kept.
    public static let maximumBodyBytes = 65_536

    public init(
        _ kind: Kind, code: String? = nil, requestID: String? = nil, fields: [Problem.FieldError] = [],
        retryAfter: Duration? = nil, reason: String? = nil, status: Int? = nil, body: Redacted<Data>? = nil
    ) {
        self.kind = kind
        self.code = code
        self.requestID = requestID
        self.fields = fields
        self.retryAfter = retryAfter
        self.reason = reason
        self.status = status
        self.body = body.flatMap { $0.value.count <= Self.maximumBodyBytes ? $0 : nil }
    }

    public var retry: Retry {
        switch kind {
        case .offline: .whenOnline
        case .timedOut, .unavailable, .rateLimited, .server, .storage: retryAfter.map(Retry.after) ?? .now
        default: .never
        }
    }
}

extension GatehouseError {
    /// Converts an error response: Gatehouse's own problem documents and any other service's answers.
    init(response: HTTPURLResponse, body: Data) {
        let problem = ProblemBody(response: response, body: body)
        let kind = problem.code.flatMap(Self.kind(ofCode:)) ?? Self.kind(ofStatus: response.statusCode)
        self.init(
            response.isCaptivePortal ? .unavailable : kind, code: problem.code,
            requestID: response.requestID ?? problem.requestId,
            fields: problem.errors ?? [], retryAfter: response.retryAfter,
            reason: "HTTP \(response.statusCode)", status: response.statusCode, body: Redacted(body))
    }

    /// A successful response whose body cannot be decoded as `type`. The server has fulfilled the request, so the error
    /// does not suggest a retry, unless the response is a network's sign-in page.
    ///
    /// The decoding error is dropped, because its text may hold a part of the body, such as a token.
    static func unreadable(_ exchange: CompletedExchange, as type: Any.Type) -> GatehouseError {
        GatehouseError(
            exchange.response.isCaptivePortal ? .unavailable : .unreadable, requestID: exchange.requestID,
            reason: "the answer is not a valid \(type)", status: exchange.response.statusCode)
    }

    /// - Returns: `nil` for an unknown code; then the status decides.
    static func kind(ofCode code: String) -> Kind? {
        ErrorCode(rawValue: code).map(kind(of:))
    }

    private static func kind(of code: ErrorCode) -> Kind {
        switch code {
        case .invalidRequest, .payloadTooLarge: .invalidInput
        case .invalidCredentials: .invalidCredentials
        case .invalidToken, .tokenExpired: .signedOut
        case .invalidRefreshToken: .sessionEnded
        case .invalidAppleToken: .invalidAppleToken
        case .forbidden: .forbidden
        case .accountDisabled: .accountDisabled
        case .reauthenticationRequired: .reauthenticationRequired
        case .notFound: .notFound
        case .identifierTaken: .identifierTaken
        case .weakPassword: .weakPassword
        case .rateLimited: .rateLimited
        case .internal: .server
        case .badGateway, .unavailable: .unavailable
        case .timeout: .timedOut
        case .methodNotAllowed, .idempotencyKeyReused, .targetTooLong, .unsupportedMediaType, .expectationFailed,
            .headersTooLarge, .versionNotSupported:
            .misuse
        }
    }

    static func kind(ofStatus status: Int) -> Kind {
        switch status {
        // A success status with an unexpected response.
        case 200..<300: .unreadable
        case 400, 413, 422: .invalidInput
        case 401: .signedOut
        case 403: .forbidden
        case 404, 410: .notFound
        case 405, 406, 414, 415, 417, 431: .misuse
        case 408, 504: .timedOut
        case 429: .rateLimited
        case 502, 503: .unavailable
        case 400..<500: .refused
        default: .server
        }
    }
}

extension HTTPURLResponse {
    /// Whether the response looks like the sign-in page of a network (RFC 8952), which answers in the server's place.
    var isCaptivePortal: Bool {
        let mediaType = value(forHTTPHeaderField: "Content-Type")?.lowercased() ?? ""
        return (200..<300).contains(statusCode) && mediaType.hasPrefix("text/html")
    }
}

/// The parts of a problem document (RFC 9457) that this library uses. Each may be absent: a team's own services write
/// only some of them.
struct ProblemBody: Decodable {
    /// A longer document is not a known problem document.
    static let maximumBytes = GatehouseError.maximumBodyBytes
    private static let maximumCodeBytes = 64

    var code: String?
    var requestId: String?
    var errors: [Problem.FieldError]?

    /// Empty if the response is not a problem document.
    init(response: HTTPURLResponse, body: Data) {
        let mediaType = response.value(forHTTPHeaderField: "Content-Type")?.lowercased() ?? ""
        guard mediaType.hasPrefix("application/problem+json"), body.count <= Self.maximumBytes,
            let read = try? ClientJSON.decode(Self.self, from: body)
        else { return }
        self = read
        if let code, code.utf8.count > Self.maximumCodeBytes { self.code = nil }
    }
}

extension GatehouseError {
    /// Converts an error of a transport, a store or a cancelled task. An error of this library stays unchanged.
    ///
    /// `CancellationError`, which a function with a typed error cannot throw, becomes ``Kind/cancelled``. From a
    /// foreign error only the domain and the number are kept: its text may contain a URL with a secret.
    static func of(_ error: any Error) -> GatehouseError {
        if let error = error as? GatehouseError { return error }
        if let error = error as? TokenStoreError { return GatehouseError(error) }
        if error is CancellationError { return GatehouseError(.cancelled) }
        if let code = networkCode(of: error) {
            return GatehouseError(kind(of: code), reason: "URLError \(code.rawValue)")
        }
        let error = error as NSError
        return GatehouseError(.unavailable, reason: "\(error.domain) \(error.code)")
    }

    /// - Returns: `nil` for an error that is not one of `URLSession`.
    static func networkCode(of error: any Error) -> URLError.Code? {
        if let error = error as? URLError { return error.code }
        let error = error as NSError
        return error.domain == NSURLErrorDomain ? URLError.Code(rawValue: error.code) : nil
    }

    private static func kind(of code: URLError.Code) -> Kind {
        switch code {
        case .cancelled: .cancelled
        case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff, .callIsActive: .offline
        case .timedOut: .timedOut
        case .badServerResponse, .cannotParseResponse, .cannotDecodeContentData, .cannotDecodeRawData,
            .httpTooManyRedirects, .redirectToNonExistentLocation, .dataLengthExceedsMaximum:
            .server
        case .badURL, .unsupportedURL, .appTransportSecurityRequiresSecureConnection, .fileDoesNotExist,
            .fileIsDirectory, .noPermissionsToReadFile:
            .misuse
        // The path to the server failed: a host that cannot be found or reached, a lost connection, an untrusted
        // certificate.
        default: .unavailable
        }
    }
}

extension GatehouseError {
    /// A message for the user, in English, Hebrew, Russian or Arabic.
    ///
    /// - Parameter language: a language code: `en`, `he-IL`, `ar_EG`; by default the app's own language, as the system
    ///   has chosen it for the user. English if there is no message in that language.
    public func message(in language: String? = nil) -> String {
        let language = language ?? AppLanguage.current
        if code == ErrorCode.payloadTooLarge.rawValue {
            return LocalizedText(key: "error.PAYLOAD_TOO_LARGE", english: "This is too large to be sent.")
                .text(in: language)
        }
        return LocalizedText(key: "error.\(kind)", english: kind.message).text(in: language)
    }
}

extension GatehouseError: LocalizedError {
    /// ``message(in:)`` in the app's language.
    public var errorDescription: String? { message() }

    /// When the user may try again, if the server has named a time; in the app's language.
    public var recoverySuggestion: String? { recoverySuggestion(in: AppLanguage.current) }

    func recoverySuggestion(in language: String) -> String? {
        guard let retryAfter else { return nil }
        let wait = Duration.seconds(max(1, (retryAfter / .seconds(1)).rounded(.up)))
        let text = LocalizedText(key: "error.retryAfter", english: "You can try again in %@.").text(in: language)
        let format = Duration.UnitsFormatStyle(allowedUnits: [.hours, .minutes, .seconds], width: .wide)
        return text.replacingOccurrences(of: "%@", with: wait.formatted(format.locale(Locale(identifier: language))))
    }
}
