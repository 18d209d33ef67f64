import Bytes
@testable import AppleSimulator
import Foundation
import NIOPosix
import Testing

@Suite struct APNsPushTests {
    private let now = 1_800_000_000

    private func push(
        _ change: (inout APNsPush) -> Void = { _ in }
    ) throws -> APNsPush {
        var push = APNsPush(
            method: "POST", path: "/3/device/00aa11",
            headers: ["apns-topic": "com.example.app", "authorization": "bearer \(providerToken())"],
            body: Array(#"{"aps":{}}"#.utf8))
        change(&push)
        return push
    }

    private func providerToken(algorithm: String = "ES256", issuedAt: Int = 1_800_000_000) -> String {
        [#"{"alg":"\#(algorithm)","kid":"KEY"}"#, #"{"iss":"TEAM","iat":\#(issuedAt)}"#, "signature"]
            .map { Base64URL.string($0.utf8) }.joined(separator: ".")
    }

    @Test func acceptsAGoodPush() throws {
        #expect(try push().refusal(now: now) == nil)
        #expect(try push().deviceToken == "00aa11")
    }

    @Test func refusesAsAPNsDoes() throws {
        let cases: [(String, Int, (inout APNsPush) -> Void)] = [
            ("BadPath", 404, { $0.path = "/3/devices/00" }),
            ("MethodNotAllowed", 405, { $0.method = "GET" }),
            ("MissingTopic", 400, { $0.headers["apns-topic"] = nil }),
            ("MissingDeviceToken", 400, { $0.path = "/3/device/" }),
            ("BadDeviceToken", 400, { $0.path = "/3/device/xyz0" }),
            ("BadDeviceToken", 400, { $0.path = "/3/device/000" }),
            ("MissingProviderToken", 403, { $0.headers["authorization"] = nil }),
            ("InvalidProviderToken", 403, { $0.headers["authorization"] = "bearer nonsense" }),
            (
                "InvalidProviderToken", 403,
                { $0.headers["authorization"] = "bearer " + providerToken(algorithm: "HS256") }
            ),
            ("ExpiredProviderToken", 403, { $0.headers["authorization"] = "bearer " + providerToken(issuedAt: 1) }),
            ("PayloadEmpty", 400, { $0.body = [] }),
            ("PayloadTooLarge", 413, { $0.body = [UInt8](repeating: 32, count: 4_097) }),
        ]
        for (reason, status, change) in cases {
            #expect(try push(change).refusal(now: now) == .refused(status, reason))
        }
        let voip = try push {
            $0.headers["apns-push-type"] = "voip"
            $0.body = [UInt8](repeating: 32, count: 5_120)
        }
        #expect(voip.refusal(now: now) == nil)
    }

    @Test func answersAreAsSet() {
        let answers = APNsAnswers()
        #expect(answers.take(for: "aa") == .ok)
        answers.set(APNsAnswerRequest(token: "aa", status: 410, reason: "Unregistered", timestamp: 5, times: 2))
        answers.set(APNsAnswerRequest(status: 429, reason: "TooManyRequests"))
        let gone = APNsAnswer(status: 410, body: APNsAnswer.Body(reason: "Unregistered", timestamp: 5))
        #expect(answers.take(for: "aa") == gone)
        #expect(answers.take(for: "bb") == .refused(429, "TooManyRequests"))
        #expect(answers.take(for: "aa") == gone)
        #expect(answers.take(for: "aa") == .refused(429, "TooManyRequests"))
    }
}

@Suite struct APNsServerTests {
    @Test func answersOverHTTP2() async throws {
        let answers = APNsAnswers()
        let log = RequestLog()
        let server = try await APNsServer(
            host: "127.0.0.1", port: 0, certificate: nil, answers: answers, log: log,
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton)
        let running = Task { try await server.run() }
        let client = try await HTTP2TestClient.connect(port: server.port)
        let now = Int(Date().timeIntervalSince1970)
        let token = [#"{"alg":"ES256","kid":"KEY"}"#, #"{"iss":"TEAM","iat":\#(now)}"#, "s"]
            .map { Base64URL.string($0.utf8) }.joined(separator: ".")
        let headers = ["apns-topic": "com.example.app", "apns-id": "id-1", "authorization": "bearer \(token)"]

        let accepted = try await client.post("/3/device/00aa", headers: headers, body: #"{"aps":{}}"#)
        #expect(accepted.status == 200 && accepted.headers["apns-id"] == "id-1" && accepted.body.isEmpty)

        answers.set(APNsAnswerRequest(token: "00aa", status: 410, reason: "Unregistered", timestamp: 7, delay: 0.01))
        let gone = try await client.post("/3/device/00aa", headers: headers, body: #"{"aps":{}}"#)
        #expect(gone.status == 410)
        let body = try JSONDecoder().decode(APNsAnswer.Body.self, from: Data(gone.body.utf8))
        #expect(body == APNsAnswer.Body(reason: "Unregistered", timestamp: 7))

        let refused = try await client.post("/3/device/00aa", headers: [:], body: "{}")
        #expect(refused.status == 400 && refused.headers["apns-id"] != nil)

        #expect(log.entries.map(\.status) == [200, 410, 400])
        #expect(log.entries.first?.headers["apns-topic"] == "com.example.app")
        #expect(log.entries.first?.headers["authorization"] == nil)
        #expect(log.entries.first?.body == #"{"aps":{}}"#)
        try await client.close()
        running.cancel()
        try await running.value
    }
}
