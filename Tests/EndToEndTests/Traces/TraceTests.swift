import Foundation
import GatehouseServiceContracts
import TestKit
import Testing

/// One request through all services, by its identifier: in every trace and every log.
@Suite(.systemPermit) struct TraceTests {
    /// What a test has of a system that records everything.
    private struct Scene: Sendable {
        let system: GatehouseSystem
        let receiver: OTLPReceiver

        /// Sends a request under an identifier of its own.
        func post(_ path: String, _ body: some Encodable & Sendable, as requestID: String) async throws
            -> TestHTTPClient.Response
        {
            try await system.gateway.post(path, json: body, headers: [HeaderName.requestID: requestID])
        }

        /// The request's trace, once it is whole and has all services: each sends its spans by itself, in any order.
        func trace(of requestID: String, from services: Set<String>) async throws -> TraceTree {
            var tree = TraceTree(requestID: requestID, in: receiver)
            try await eventually("the trace of \(requestID) is whole: \(tree.spans)") {
                tree = TraceTree(requestID: requestID, in: receiver)
                return tree.isWhole && tree.services == services
            }
            let ofTrace = receiver.spans.filter { $0.traceID == tree.traceID }
            #expect(ofTrace.allSatisfy { $0.requestID == requestID })
            return tree
        }

        /// The lines of a service's log that name the request. The last line may still be in the making.
        func lines(of service: String, naming requestID: String) throws -> [[String: String]] {
            let lines = system.process(service).logText.split(separator: "\n", omittingEmptySubsequences: false)
            return try lines.dropLast().filter { $0.contains(requestID) }.map { line in
                let members = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
                return members.compactMapValues { $0 as? String }
            }
        }
    }

    private func withScene(_ body: @Sendable @escaping (Scene) async throws -> Void) async throws {
        try await OTLPReceiver.run { receiver, url in
            let settings = [
                "GATEHOUSE_TRACES_ENDPOINT": url.absoluteString, "GATEHOUSE_TRACES_PERCENT": "100",
                // With attempts counted in Redis, and a new key of Apple's asked for at once.
                "GATEHOUSE_RATE_LIMITS": "on", "IDENTITY_APPLE_KEYS_COOLDOWN": "0",
            ]
            try await GatehouseSystem.run(ports: SystemPorts(tokensReplicas: 1), settings: settings) { system in
                try await body(Scene(system: system, receiver: receiver))
            }
        }
    }

    @Test func aRequestIsFollowedThroughEveryTraceAndLog() async throws {
        try await withScene { scene in
            let email = Journey.uniqueEmail()
            let (session, apple) = try await signsIn(scene, email: email)
            let successor = try await refreshes(scene, session)
            try await isHeldUpByApple(scene)

            var secrets = [
                session.accessToken, session.refreshToken, successor.accessToken, successor.refreshToken,
                apple.identityToken, apple.authorizationCode, apple.sub, email, session.user.id.uuidString,
            ]
            secrets += scene.system.databases.values
            secrets += scene.system.settings.filter { $0.key.hasSuffix("_CREDENTIAL") }.values
            let text = scene.receiver.text.lowercased()
            for secret in secrets { #expect(!text.contains(secret.lowercased()), "\(secret)") }
        }
    }

    /// gateway → identity → PostgreSQL, Redis, Apple, and tokens → PostgreSQL.
    private func signsIn(
        _ scene: Scene, email: String
    ) async throws -> (session: AuthResponse, apple: Journey.AppleSignInAnswer) {
        let apple = try await scene.system.journey.appleToken(.init(email: email, emailVerified: true))
        let answer = try await scene.post(
            "/v1/auth/apple",
            AppleSignInRequest(identityToken: apple.identityToken, authorizationCode: apple.authorizationCode),
            as: "the-sign-in")
        try #require(answer.status == 200, "\(answer.text)")

        let services: Set = ["gateway", "identity", "tokens"]
        let trace = try await scene.trace(of: "the-sign-in", from: services)
        #expect(trace.errors.isEmpty)
        let atGateway = try trace.root()
        #expect(atGateway.service == "gateway" && atGateway.kind == 2 && atGateway.name == "POST /v1/auth/apple")
        let atIdentity = try trace.served(by: "identity", below: trace.call(of: "identity", below: atGateway))
        #expect(atIdentity.name == "POST /v1/auth/apple")
        #expect(try trace.call(of: "apple", below: atIdentity).attributes["url.template"] == "/auth/keys")
        #expect(!trace.calls(ofDatabase: "postgresql", below: atIdentity).isEmpty)
        #expect(!trace.calls(ofDatabase: "redis", below: atIdentity).isEmpty)
        let atTokens = try trace.served(by: "tokens", below: trace.call(of: "tokens", below: atIdentity))
        let statements = trace.calls(ofDatabase: "postgresql", below: atTokens)
        #expect(statements.contains { $0.attributes["db.query.text"]?.contains("$1") == true })
        try await areInTheLogs(scene, "the-sign-in", trace, services)
        return (try answer.decode(), apple)
    }

    /// gateway → tokens → PostgreSQL, Redis.
    private func refreshes(_ scene: Scene, _ session: AuthResponse) async throws -> AuthResponse {
        let answer = try await scene.post(
            "/v1/auth/refresh", RefreshRequest(refreshToken: session.refreshToken), as: "the-refresh")
        try #require(answer.status == 200, "\(answer.text)")

        let services: Set = ["gateway", "tokens"]
        let trace = try await scene.trace(of: "the-refresh", from: services)
        #expect(trace.errors.isEmpty)
        let atTokens = try trace.served(by: "tokens", below: trace.call(of: "tokens", below: trace.root()))
        #expect(atTokens.name == "POST /v1/auth/refresh")
        let statements = trace.calls(ofDatabase: "postgresql", below: atTokens)
        #expect(statements.contains { $0.attributes["db.query.text"]?.contains("rotate_session") == true })
        #expect(trace.calls(ofDatabase: "redis", below: atTokens).contains { $0.name == "SET" })
        try await areInTheLogs(scene, "the-refresh", trace, services)
        return try answer.decode()
    }

    /// Apple does not answer in time: it shows where the time went.
    private func isHeldUpByApple(_ scene: Scene) async throws {
        _ = try await scene.system.apple.post("/simulator/rotate-keys", text: "{}")
        let apple = try await scene.system.journey.appleToken()
        _ = try await scene.system.apple.post("/simulator/fault", text: #"{"mode": "slow"}"#)
        let answer = try await scene.post(
            "/v1/auth/apple", AppleSignInRequest(identityToken: apple.identityToken), as: "the-slow-one")
        _ = try await scene.system.apple.post("/simulator/fault", text: #"{"mode": "none"}"#)
        #expect(answer.status == 503)

        let trace = try await scene.trace(of: "the-slow-one", from: ["gateway", "identity"])
        let atIdentity = try trace.served(by: "identity", below: trace.call(of: "identity", below: trace.root()))
        let call = try trace.call(of: "apple", below: atIdentity)
        #expect(call.isError && call.attributes["error.type"] == "timeout")
        // The spans that wait for it include its time.
        #expect(try trace.root().duration >= call.duration && atIdentity.duration >= call.duration)
        try await areInTheLogs(scene, "the-slow-one", trace, ["gateway", "identity"])
    }

    /// Each service has told of the request, and each of its lines leads to the trace.
    private func areInTheLogs(
        _ scene: Scene, _ requestID: String, _ trace: TraceTree, _ services: Set<String>
    ) async throws {
        for service in services {
            let spanID = trace.spans.first { $0.service == service && $0.kind == 2 }?.spanID
            try await eventually("\(service) has written of \(requestID)") {
                try scene.lines(of: service, naming: requestID).contains { $0["message"] == "request" }
            }
            for line in try scene.lines(of: service, naming: requestID) {
                #expect(line["request_id"] == requestID, "\(line)")
                #expect(line["trace_id"] == trace.traceID, "\(line)")
                #expect(line["span_id"] == spanID, "\(line)")
            }
        }
    }
}
