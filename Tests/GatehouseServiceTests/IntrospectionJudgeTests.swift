import Contracts
import Foundation
import GatehouseService
import TestKit
import Testing

@Suite("Access tokens by introspection")
struct IntrospectionJudgeTests {
    private static let user = UUID()
    private static let session = UUID()

    private func answer(_ changes: [String: String?] = [:]) -> String {
        let members: [String: String?] = [
            "active": "true", "token_use": #""access_token""#, "iss": "\"\(FakeTokens.issuer)\"",
            "aud": #""gatehouse""#, "sub": "\"\(Self.user)\"", "sid": "\"\(Self.session)\"", "role": #""courier""#,
            "store_ids": #"["store-1"]"#,
        ]
        let present = members.merging(changes) { $1 }.compactMapValues(\.self)
        return "{" + present.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
    }

    private func run(_ body: (FakeTokens, IntrospectionJudge) async throws -> Void) async throws {
        try await FakeTokens.run { tokens, configuration, client in
            try await body(tokens, IntrospectionJudge(configuration, httpClient: client, logger: .quiet))
        }
    }

    @Test("An active access token tells of its user, and who asks shows the credential")
    func active() async throws {
        try await run { tokens, judge in
            tokens.answer { $0.introspection = answer() }
            let expected = ForwardedUser(
                id: Self.user, sessionID: Self.session, role: "courier", storeIDs: ["store-1"])
            #expect(try await judge.user(of: "a+b c", before: .after(.seconds(20))) == expected)
            let question = try #require(tokens.questions.first)
            #expect(question.body == "token=a%2Bb%20c")
            let pair = "introspection:\(FakeTokens.credential.replacing("+", with: "%2B"))"
            #expect(question.authorization == "Basic " + Data(pair.utf8).base64EncodedString())
        }
    }

    @Test("What is no active access token of this issuer and audience is refused")
    func refused() async throws {
        try await run { tokens, judge in
            let answers = [
                #"{"active":false}"#, answer(["active": "false"]), answer(["token_use": #""refresh_token""#]),
                answer(["token_use": nil]), answer(["iss": #""http://other.test""#]), answer(["aud": #""other""#]),
            ]
            for text in answers {
                tokens.answer { $0.introspection = text }
                #expect(await judge.refusal(of: "token") == .invalidToken, "\(text)")
            }
            let asked = tokens.questions.count
            #expect(await judge.refusal(of: String(repeating: "a", count: 8193)) == .invalidToken)
            #expect(await judge.refusal(of: "") == .invalidToken)
            #expect(tokens.questions.count == asked)
        }
    }

    @Test("An outage is never a refusal")
    func outage() async throws {
        try await run { tokens, judge in
            for text in ["", "garbage", "[]", #"{"active":"yes"}"#, answer(["sub": nil]), answer(["sid": #""x""#])] {
                tokens.answer { $0.introspection = text }
                #expect(await judge.refusal(of: "token") == .unavailable, "\(text)")
            }
            tokens.answer { $0.introspection = answer() }
            for status in [HTTPResponse.Status.unauthorized, .internalServerError, .serviceUnavailable, .found] {
                tokens.answer { $0.status = status }
                #expect(await judge.refusal(of: "token") == .unavailable, "\(status)")
            }
            tokens.answer { $0.status = .ok }
            do throws(Problem) {
                _ = try await judge.user(of: "token", before: .after(.zero))
                Issue.record("nobody waits for it any more")
            } catch {
                #expect(error.code == .unavailable)
            }
        }
    }
}
