public import Contracts
public import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What went wrong, for an app: decide by ``kind``, show ``message(in:)``, offer "Try Again" where ``retry`` says so.
public struct GatehouseError: Error, Sendable, Equatable {
    /// More may come: have a `default`.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        init(_ description: String) { self.description = description }

        /// There is no network.
        public static let offline = Self("offline")
        /// No answer in time.
        public static let timedOut = Self("timedOut")
        /// The server cannot be reached, or says that it is away for a moment.
        public static let unavailable = Self("unavailable")
        /// The server asks to wait.
        public static let rateLimited = Self("rateLimited")
        /// The task that asked was cancelled: there is nothing to show.
        public static let cancelled = Self("cancelled")
        /// Nobody is signed in.
        public static let signedOut = Self("signedOut")
        /// Somebody was, and the server has ended that session.
        public static let sessionEnded = Self("sessionEnded")
        /// The session is there and cannot be read yet.
        public static let locked = Self("locked")
        public static let invalidCredentials = Self("invalidCredentials")
        /// Apple's identity token has expired or was refused: begin the dialog anew.
        public static let invalidAppleToken = Self("invalidAppleToken")
        public static let accountDisabled = Self("accountDisabled")
        public static let identifierTaken = Self("identifierTaken")
        public static let weakPassword = Self("weakPassword")
        /// ``fields`` says what is wrong.
        public static let invalidInput = Self("invalidInput")
        public static let reauthenticationRequired = Self("reauthenticationRequired")
        public static let forbidden = Self("forbidden")
        public static let notFound = Self("notFound")
        /// The server has understood and will not, for a reason of its own: ``GatehouseError/status`` and
        /// ``GatehouseError/body`` say which.
        public static let refused = Self("refused")
        /// The session could not be saved, or what is saved is damaged.
        public static let storage = Self("storage")
        /// The server failed.
        public static let server = Self("server")
        /// The server has done what it was asked for, and this version cannot read what it answered.
        public static let unreadable = Self("unreadable")
        /// The app asked for what cannot be: plain HTTP to another host than this one, a bearer for a foreign host.
        public static let misuse = Self("misuse")
    }

    /// Whether the same may be tried again, and when.
    public enum Retry: Sendable, Equatable {
        /// Not before something else has changed.
        case never
        case now
        case after(Duration)
        /// When there is a network again.
        case whenOnline
    }

    public let kind: Kind
    /// The server's own word, where it gave one.
    public let code: String?
    /// What the operators need to find the request.
    public let requestID: String?
    /// For invalid input, what is wrong field by field, in English.
    public let fields: [Problem.FieldError]
    /// How long the server asks to wait.
    public let retryAfter: Duration?
    /// For a log, without a secret.
    public let reason: String?
    /// HTTP's, where there was a response.
    public let status: Int?
    /// What the response that refuses holds, for a service of one's own that says there what went wrong. It is not
    /// printed. `nil` where there was no response, or where it is longer than ``maximumBodyBytes``.
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
    /// A response that refuses, for an app: Gatehouse's own problem documents, and whatever else a service answers.
    init(response: HTTPURLResponse, body: Data) {
        let problem = ProblemBody(response: response, body: body)
        let kind = problem.code.flatMap(Self.kind(ofCode:)) ?? Self.kind(ofStatus: response.statusCode)
        self.init(
            kind, code: problem.code,
            requestID: response.value(forHTTPHeaderField: HeaderName.requestID) ?? problem.requestId,
            fields: problem.errors ?? [], retryAfter: response.retryAfter,
            reason: "HTTP \(response.statusCode)", status: response.statusCode, body: Redacted(body))
    }

    /// A successful response whose body cannot be decoded as `type`. The server has done what the app asked for, so the
    /// error does not suggest a retry.
    ///
    /// The decoding error is dropped, because its text may hold a part of the body, such as a token.
    static func unreadable(_ exchange: Exchange, as type: Any.Type) -> GatehouseError {
        GatehouseError(
            .unreadable, requestID: exchange.requestID, reason: "the answer is no \(type)",
            status: exchange.response.statusCode)
    }

    /// - Returns: `nil` for a word that this version does not know: then the status decides.
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
        case .methodNotAllowed, .targetTooLong, .unsupportedMediaType, .expectationFailed, .headersTooLarge,
            .versionNotSupported:
            .misuse
        }
    }

    static func kind(ofStatus status: Int) -> Kind {
        switch status {
        // Of success, and not what was asked for.
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

/// What is of use in a problem document (RFC 9457). Each part may lack: a team's own services write some of it.
struct ProblemBody: Decodable {
    /// A longer document is none of those that are known.
    static let maximumBytes = GatehouseError.maximumBodyBytes
    private static let maximumCodeBytes = 64

    var code: String?
    var requestId: String?
    var errors: [Problem.FieldError]?

    /// Empty where the response holds no problem document.
    init(response: HTTPURLResponse, body: Data) {
        let mediaType = response.value(forHTTPHeaderField: "Content-Type")?.lowercased() ?? ""
        guard mediaType.hasPrefix("application/problem+json"), body.count <= Self.maximumBytes,
            let read = try? JSON.decode(Self.self, from: body)
        else { return }
        self = read
        if let code, code.utf8.count > Self.maximumCodeBytes { self.code = nil }
    }
}

extension GatehouseError {
    /// What a transport, a store or a cancelled task has thrown, for an app. An error of this library stays as it is.
    ///
    /// `CancellationError`, which a function with a typed error cannot throw, becomes ``Kind/cancelled``. Of a foreign
    /// error only its number is kept: its text may hold an address with a secret in it.
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

    /// - Returns: `nil` for an error that is none of `URLSession`'s.
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
        // A host that cannot be found or reached, a connection that was lost, a certificate that is not trusted: what
        // stands between the device and the server.
        default: .unavailable
        }
    }
}

extension GatehouseError {
    /// A sentence for a person, in English, Hebrew, Russian or Arabic.
    ///
    /// - Parameter language: as in `en`, `he-IL`, `ar_EG`; by default the app's own, as the system has chosen it for
    ///   the user (``AppLanguage/current``). English where there is no sentence.
    public func message(in language: String? = nil) -> String {
        let languages = [language ?? AppLanguage.current]
        let catalogue = MessageCatalogue.shared
        return code.flatMap { catalogue.message(for: $0, in: languages) }
            ?? catalogue.message(for: kind.description, in: languages)
            ?? catalogue.message(for: Kind.server.description, in: languages) ?? kind.description
    }
}
