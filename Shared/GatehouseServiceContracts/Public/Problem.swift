/// An error that a service throws and then writes to the client (`application/problem+json`, RFC 9457).
public struct Problem: Error, Sendable, Equatable {
    /// One input field that was refused.
    public struct FieldError: Codable, Sendable, Equatable {
        /// The field's name as the client wrote it, nested ones with dots (`device.name`).
        public var field: String
        /// A description of the fault, for people.
        public var message: String

        public init(field: String, message: String) {
            self.field = field
            self.message = message
        }
    }

    public var code: ErrorCode
    /// A sentence for the user, without technical details.
    public var detail: String
    /// For invalid input, the faults of each field.
    public var errors: [FieldError]
    /// Seconds after which a retry makes sense; written as `Retry-After` with 429 and 503.
    public var retryAfter: Int?
    /// With `REAUTHENTICATION_REQUIRED`: the maximum age of the authentication in seconds, written in the challenge
    /// (RFC 9470 §3).
    public var maximumAuthenticationAge: Int?

    /// - Parameters:
    ///   - detail: `nil` uses the code's default.
    ///   - retryAfter: seconds; 429 and 503 use 1 if none is given.
    public init(_ code: ErrorCode, _ detail: String? = nil, errors: [FieldError] = [], retryAfter: Int? = nil) {
        self.code = code
        self.detail = detail ?? code.defaultDetail
        self.errors = errors
        self.retryAfter = retryAfter ?? (code == .rateLimited || code == .unavailable ? 1 : nil)
    }

    /// The user must authenticate again.
    ///
    /// - Parameter maximumAge: the maximum age of the authentication in seconds.
    public static func reauthenticationRequired(maximumAge: Int) -> Problem {
        var problem = Problem(.reauthenticationRequired)
        problem.maximumAuthenticationAge = maximumAge
        return problem
    }

    /// The value of `WWW-Authenticate` that says why a bearer token is not sufficient (RFC 6750 §3, RFC 9470 §3); `nil`
    /// for other problems.
    public var bearerChallenge: String? {
        switch code {
        case .invalidToken: #"Bearer error="invalid_token""#
        case .tokenExpired: #"Bearer error="invalid_token", error_description="The access token expired""#
        case .reauthenticationRequired:
            #"Bearer error="insufficient_user_authentication", error_description="A more recent proof is needed""#
                + (maximumAuthenticationAge.map { ", max_age=\"\($0)\"" } ?? "")
        default: nil
        }
    }

    /// An `INVALID_REQUEST` about one field.
    public static func invalid(_ field: String, _ message: String) -> Problem {
        Problem(
            .invalidRequest, "Some of the input is not valid.", errors: [FieldError(field: field, message: message)])
    }
}

/// The body of a problem answer.
public struct ProblemDocument: Codable, Sendable, Equatable {
    public var type: String
    public var title: String
    public var status: Int
    public var detail: String
    public var code: String
    public var requestId: String
    public var errors: [Problem.FieldError]?

    public init(_ problem: Problem, requestID: String) {
        self.type = "about:blank"
        self.title = problem.code.title
        self.status = problem.code.status
        self.detail = problem.detail
        self.code = problem.code.rawValue
        self.requestId = requestID
        self.errors = problem.errors.isEmpty ? nil : problem.errors
    }

    /// The problem of the document; `nil` when the code is not one of Gatehouse's.
    public var problem: Problem? {
        ErrorCode(rawValue: code).map { Problem($0, detail, errors: errors ?? []) }
    }
}
