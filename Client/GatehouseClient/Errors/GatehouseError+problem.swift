import Contracts
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

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

    /// A response of success whose body is no `type`. What was asked for is done: nobody is told to try again.
    ///
    /// Of the decoding error nothing is kept: its text may hold what was decoded, a token for example.
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
