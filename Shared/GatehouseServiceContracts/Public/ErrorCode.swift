/// The `code` of a problem response, on which clients branch.
public enum ErrorCode: String, Codable, Sendable, CaseIterable {
    case invalidRequest = "INVALID_REQUEST"
    case invalidCredentials = "INVALID_CREDENTIALS"
    case invalidToken = "INVALID_TOKEN"
    case tokenExpired = "TOKEN_EXPIRED"
    case invalidRefreshToken = "INVALID_REFRESH_TOKEN"
    case invalidAppleToken = "INVALID_APPLE_TOKEN"
    case forbidden = "FORBIDDEN"
    case accountDisabled = "ACCOUNT_DISABLED"
    case reauthenticationRequired = "REAUTHENTICATION_REQUIRED"
    case notFound = "NOT_FOUND"
    case methodNotAllowed = "METHOD_NOT_ALLOWED"
    case identifierTaken = "IDENTIFIER_TAKEN"
    case idempotencyKeyReused = "IDEMPOTENCY_KEY_REUSED"
    case payloadTooLarge = "PAYLOAD_TOO_LARGE"
    case targetTooLong = "URI_TOO_LONG"
    case unsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE"
    case expectationFailed = "EXPECTATION_FAILED"
    case weakPassword = "WEAK_PASSWORD"
    case headersTooLarge = "HEADERS_TOO_LARGE"
    case rateLimited = "RATE_LIMITED"
    case `internal` = "INTERNAL"
    case badGateway = "BAD_GATEWAY"
    case unavailable = "UNAVAILABLE"
    case timeout = "TIMEOUT"
    case versionNotSupported = "HTTP_VERSION_NOT_SUPPORTED"

    /// The HTTP status that goes with the code.
    public var status: Int {
        switch self {
        case .invalidRequest: 400
        case .invalidCredentials, .invalidToken, .tokenExpired, .invalidRefreshToken, .invalidAppleToken: 401
        case .forbidden, .accountDisabled, .reauthenticationRequired: 403
        case .notFound: 404
        case .methodNotAllowed: 405
        case .identifierTaken, .idempotencyKeyReused: 409
        case .payloadTooLarge: 413
        case .targetTooLong: 414
        case .unsupportedMediaType: 415
        case .expectationFailed: 417
        case .weakPassword: 422
        case .rateLimited: 429
        case .headersTooLarge: 431
        case .internal: 500
        case .badGateway: 502
        case .unavailable: 503
        case .timeout: 504
        case .versionNotSupported: 505
        }
    }

    /// The problem's `title`: a few words, the same for every occurrence (RFC 9457 §3.1.3).
    public var title: String {
        switch self {
        case .invalidRequest: "Invalid request"
        case .invalidCredentials: "Sign-in failed"
        case .invalidToken: "Not signed in"
        case .tokenExpired: "Access expired"
        case .invalidRefreshToken: "Session ended"
        case .invalidAppleToken: "Sign in with Apple failed"
        case .forbidden: "Not allowed"
        case .accountDisabled: "Account disabled"
        case .reauthenticationRequired: "Confirmation needed"
        case .notFound: "Not found"
        case .methodNotAllowed: "Method not allowed"
        case .identifierTaken: "Already registered"
        case .idempotencyKeyReused: "Request key used before"
        case .payloadTooLarge: "Request too large"
        case .targetTooLong: "Address too long"
        case .unsupportedMediaType: "Unsupported media type"
        case .expectationFailed: "Expectation not met"
        case .weakPassword: "Password too weak"
        case .headersTooLarge: "Request head too large"
        case .rateLimited: "Too many requests"
        case .internal: "Something went wrong"
        case .badGateway: "Service answered badly"
        case .unavailable: "Temporarily unavailable"
        case .timeout: "Took too long"
        case .versionNotSupported: "Protocol version not supported"
        }
    }

    /// The default `detail`.
    public var defaultDetail: String {
        switch self {
        case .invalidRequest: "The request could not be understood."
        case .invalidCredentials: "The sign-in details are not right."
        case .invalidToken: "Please sign in."
        case .tokenExpired: "Your access has expired. Please refresh it."
        case .invalidRefreshToken: "Your session has ended. Please sign in again."
        case .invalidAppleToken: "Sign in with Apple did not succeed. Please try again."
        case .forbidden: "You are not allowed to do this."
        case .accountDisabled: "This account is disabled."
        case .reauthenticationRequired: "Please confirm that it is you."
        case .notFound: "There is nothing here."
        case .methodNotAllowed: "This cannot be done here."
        case .identifierTaken: "There is an account with this address or number already."
        case .idempotencyKeyReused: "The key of this request was used for a different one."
        case .payloadTooLarge: "The request is too large."
        case .targetTooLong: "The request's address is too long."
        case .unsupportedMediaType: "The request's media type is not supported here."
        case .expectationFailed: "The request expects what cannot be met here."
        case .weakPassword: "Please choose a stronger password."
        case .headersTooLarge: "The request's head is too large."
        case .rateLimited: "Too many attempts. Please wait a moment."
        case .internal: "Something went wrong on our side."
        case .badGateway: "A service behind the gateway could not be reached, or its response could not be used."
        case .unavailable: "This is temporarily unavailable. Please try again in a moment."
        case .timeout: "A service behind the gateway took too long to answer."
        case .versionNotSupported: "This version of the protocol is not supported here."
        }
    }
}
