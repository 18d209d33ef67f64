import Foundation
import GatehouseService
import GatehouseServiceContracts
import NIOCore
import TestKit
import Testing
import Tracing

@testable import GatehouseObservability

@Suite("Access tokens by introspection")
struct IntrospectionVerifierTests {
    private static let user = UUID()
    private static let session = UUID()

    private func answer(_ changes: [String: String?] = [:]) -> String {
        let members: [String: String?] = [
            "active": "true", "token_use": #""access_token""#, "iss": "\"\(TeamTokens.issuer)\"",
            "aud": #""gatehouse""#, "sub": "\"\(Self.user)\"", "sid": "\"\(Self.session)\"", "role": #""courier""#,
            "store_ids": #"["store-1"]"#, "auth_time": "1800000000", "amr": #"["pwd","later"]"#,
        ]
        let present = members.merging(changes) { $1 }.compactMapValues(\.self)
        return "{" + present.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
    }

    private func run(_ body: (TeamTokens, IntrospectionVerifier) async throws -> Void) async throws {
        try await TeamTokens.run { tokens, configuration, client in
            try await body(tokens, IntrospectionVerifier(configuration, httpClient: client, logger: .quiet))
        }
    }

    @Test("An active access token tells of its user, and who asks shows the credential")
    func active() async throws {
        try await run { tokens, verifier in
            tokens.answer { $0.introspection = answer() }
            let expected = ForwardedUser(
                id: Self.user, sessionID: Self.session, role: "courier", storeIDs: ["store-1"],
                authenticatedAt: Date(timeIntervalSince1970: 1_800_000_000),
                authenticationMethods: [.password, .init(rawValue: "later")])
            #expect(try await verifier.user(of: "a+b c") == expected)
            let question = try #require(tokens.questions.first)
            #expect(question.body == "token=a%2Bb%20c")
            tokens.answer { $0.introspection = answer(["auth_time": nil, "amr": nil]) }
            let untold = try await verifier.user(of: "token")
            #expect(untold.authenticatedAt == nil && untold.authenticationMethods == [])
            let pair = "introspection:\(TeamTokens.credential.replacing("+", with: "%2B"))"
            #expect(question.authorization == "Basic " + Data(pair.utf8).base64EncodedString())
        }
    }

    @Test("What is no active access token of this issuer and audience is refused")
    func refused() async throws {
        try await run { tokens, verifier in
            let answers = [
                #"{"active":false}"#, answer(["active": "false"]), answer(["token_use": #""refresh_token""#]),
                answer(["token_use": nil]), answer(["iss": #""http://other.test""#]), answer(["aud": #""other""#]),
            ]
            for text in answers {
                tokens.answer { $0.introspection = text }
                #expect(await verifier.refusal(of: "token") == .invalidToken, "\(text)")
            }
            let asked = tokens.questions.count
            #expect(await verifier.refusal(of: String(repeating: "a", count: 8193)) == .invalidToken)
            #expect(await verifier.refusal(of: "") == .invalidToken)
            #expect(tokens.questions.count == asked)
        }
    }

    @Test("A replica that is gone, or hangs up, costs nothing: the other one is asked")
    func anotherReplica() async throws {
        try await withTCPServer(onAccept: { $0.close(promise: nil) }) { port in
            let gone = try freePort()
            try await TeamTokens.run { tokens, configuration, client in
                tokens.answer { $0.introspection = answer() }
                for other in [gone, port] {
                    var configuration = configuration
                    configuration.tokensURLs.append(try #require(URL(string: "http://127.0.0.1:\(other)")))
                    // So many that some draw the other one first; each has a client that knows nothing of it yet.
                    for _ in 0..<16 {
                        let verifier = IntrospectionVerifier(configuration, httpClient: client, logger: .quiet)
                        #expect(await verifier.refusal(of: "token") == nil)
                    }
                }
            }
        }
    }

    @Test("tokens learns of the request that it is asked for")
    func scope() async throws {
        try await run { tokens, verifier in
            tokens.answer { $0.introspection = answer() }
            let trace = TraceContext(isSampled: true)
            let tracer = GatehouseTracer(sampler: TraceSampler(percent: 0), spans: SpanBuffer())
            var context = ServiceContext.topLevel
            context.requestID = "from-caller"
            context.traceContext = trace
            let refusal = await withTracer(tracer) {
                await ServiceContext.withValue(context) { await verifier.refusal(of: "token") }
            }
            let question = try #require(tokens.questions.first)
            #expect(refusal == nil && question.requestID == "from-caller")
            #expect(question.traceparent.contains(trace.traceID))
            let span = try #require(tracer.spans.take().first)
            #expect(span.name == "POST tokens" && question.traceparent.contains(span.spanID))
        }
    }

    @Test("An outage is never a refusal")
    func outage() async throws {
        try await run { tokens, verifier in
            for text in ["", "garbage", "[]", #"{"active":"yes"}"#, answer(["sub": nil]), answer(["sid": #""x""#])] {
                tokens.answer { $0.introspection = text }
                #expect(await verifier.refusal(of: "token") == .unavailable, "\(text)")
            }
            tokens.answer { $0.introspection = answer() }
            for status in [HTTPResponse.Status.unauthorized, .internalServerError, .serviceUnavailable, .found] {
                tokens.answer { $0.status = status }
                #expect(await verifier.refusal(of: "token") == .unavailable, "\(status)")
            }
            tokens.answer { $0.status = .ok }
            do throws(Problem) {
                _ = try await Deadline.with(.after(.zero)) { () throws(Problem) in try await verifier.user(of: "token")
                }
                Issue.record("nobody waits for it any more")
            } catch {
                #expect(error.code == .unavailable)
            }
        }
    }
}
