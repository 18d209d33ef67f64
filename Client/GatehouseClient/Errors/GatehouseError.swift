public import Contracts
public import Foundation

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
