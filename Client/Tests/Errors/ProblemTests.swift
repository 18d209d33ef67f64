import Foundation
import GatehouseContracts
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct ProblemTests {
    private func error(
        _ status: Int, _ body: String = "", mediaType: String? = "application/problem+json",
        _ fields: [String: String] = [:]
    ) throws -> GatehouseError {
        var fields = fields
        fields["Content-Type"] = mediaType
        let url = try #require(URL(string: "https://api.example.com"))
        let response = try #require(
            HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: fields))
        return GatehouseError(response: response, body: Data(body.utf8))
    }

    private static let kinds: [(ErrorCode, GatehouseError.Kind)] = [
        (.invalidRequest, .invalidInput), (.invalidCredentials, .invalidCredentials), (.invalidToken, .signedOut),
        (.tokenExpired, .signedOut), (.invalidRefreshToken, .sessionEnded), (.invalidAppleToken, .invalidAppleToken),
        (.forbidden, .forbidden), (.accountDisabled, .accountDisabled),
        (.reauthenticationRequired, .reauthenticationRequired), (.notFound, .notFound),
        (.methodNotAllowed, .misuse), (.identifierTaken, .identifierTaken), (.payloadTooLarge, .invalidInput),
        (.idempotencyKeyReused, .misuse), (.targetTooLong, .misuse), (.unsupportedMediaType, .misuse),
        (.expectationFailed, .misuse),
        (.weakPassword, .weakPassword), (.headersTooLarge, .misuse), (.rateLimited, .rateLimited),
        (.internal, .server), (.badGateway, .unavailable), (.unavailable, .unavailable), (.timeout, .timedOut),
        (.versionNotSupported, .misuse),
    ]

    @Test func everyCodeHasAKindAndASentence() throws {
        #expect(Set(Self.kinds.map(\.0)) == Set(ErrorCode.allCases))
        for (code, kind) in Self.kinds {
            let document = ProblemDocument(Problem(code), requestID: "in-the-body")
            let error = try error(code.status, String(decoding: ClientJSON.encode(document), as: UTF8.self))
            #expect(error.kind == kind, "\(code)")
            #expect(error.code == code.rawValue)
            #expect(error.requestID == "in-the-body")
            for language in ["en", "he", "ru", "ar"] {
                #expect(!error.message(in: language).isEmpty)
                #expect(error.message(in: language) != kind.description)
            }
        }
    }

    @Test func aCodeOfTomorrowIsKeptAndTheStatusDecides() throws {
        let error = try error(403, #"{"code":"MOON_PHASE","detail":"not now"}"#)
        #expect(error.code == "MOON_PHASE")
        #expect(error.kind == .forbidden)
        #expect(try self.error(403, #"{"code":"REAUTHENTICATION_REQUIRED"}"#).kind == .reauthenticationRequired)
    }

    @Test(arguments: [
        (400, GatehouseError.Kind.invalidInput), (401, .signedOut), (403, .forbidden), (404, .notFound),
        (405, .misuse), (408, .timedOut), (410, .notFound), (413, .invalidInput), (415, .misuse),
        (422, .invalidInput), (429, .rateLimited), (500, .server), (502, .unavailable), (503, .unavailable),
        (504, .timedOut), (302, .server), (599, .server), (200, .unavailable),
        (402, .refused), (409, .refused), (412, .refused), (418, .refused), (423, .refused), (451, .refused),
    ])
    func withoutAProblemTheStatusDecides(status: Int, kind: GatehouseError.Kind) throws {
        let error = try error(status, "<html>", mediaType: "text/html")
        #expect(error.kind == kind)
        #expect(error.code == nil)
        #expect(error.reason == "HTTP \(status)")
        #expect(error.status == status)
    }

    @Test func fieldsPauseAndRequest() throws {
        let body = """
            {"code":"INVALID_REQUEST","requestId":"x","errors":[{"field":"identifier","message":"Please enter one."}]}
            """
        let error = try error(
            400, body, mediaType: "application/problem+json; charset=utf-8", ["X-Request-Id": "y", "Retry-After": "3"])
        #expect(error.fields == [Problem.FieldError(field: "identifier", message: "Please enter one.")])
        #expect(error.requestID == "y")
        #expect(error.retryAfter == .seconds(3))
        #expect(error.retry == .never)
    }

    @Test(arguments: [
        "", "{", "[]", #"{"code":7}"#, #"{"errors":"none"}"#, "null",
        #"{"code":"\#(String(repeating: "A", count: 65))"}"#,
        #"{"code":"NOT_FOUND","detail":"\#(String(repeating: "a", count: 65_536))"}"#,
    ])
    func otherBodiesAreNoProblems(body: String) throws {
        let error = try error(503, body)
        #expect(error.kind == .unavailable)
        #expect(error.code == nil)
    }
}
