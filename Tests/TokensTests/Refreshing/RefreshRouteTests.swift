import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

@testable import TokensService

extension ServiceTests {
    @Suite struct RefreshRouteTests {
        @Test func aSessionIsMadeAndRefreshed() async throws {
            try await RunningTokens.with { tokens in
                let user = User.sample()
                let session = try await tokens.signIn(user)
                #expect(session.auth.user == user)
                let answer = try await tokens.refresh(session.auth.refreshToken)
                #expect(answer.status == 200)
                #expect(answer.header("Cache-Control") == "no-store")
                #expect(answer.header("Content-Type") == "application/json")
                let auth = try answer.decode(AuthResponse.self)
                #expect(auth.user == user)
                #expect(auth.refreshToken != session.auth.refreshToken)
                #expect(auth.accessToken != session.auth.accessToken)
                let other = try await tokens.client.post(
                    "/api/v1/auth/refresh", json: RefreshRequest(refreshToken: auth.refreshToken))
                #expect(other.status == 200)
            }
        }

        /// 200 at once over two replicas, with Redis and without.
        @Test(arguments: [true, false])
        func twoHundredAtOnceGetOneSuccessor(redis: Bool) async throws {
            let settings = redis ? [:] : ["TOKENS_REDIS_URL": "redis://127.0.0.1:1"]
            try await RunningTokens.with(replicas: 2, settings: settings) { tokens in
                let session = try await tokens.signIn()
                let answers = try await withThrowingTaskGroup(of: TestHTTPClient.Response.self) { group in
                    for index in 0..<200 {
                        group.addTask { try await tokens.refresh(session.auth.refreshToken, replica: index % 2) }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(answers.count { $0.status == 200 } == 200)
                #expect(Set(try answers.map { try $0.decode(AuthResponse.self).refreshToken }).count == 1)
                #expect(try await tokens.count("sessions WHERE generation = 1") == 1)
            }
        }

        @Test func anOlderTokenEndsTheSessionAfterTheRaceWindow() async throws {
            try await RunningTokens.with(settings: ["TOKENS_RACE_WINDOW": "30"]) { tokens in
                let first = try await tokens.signIn().auth.refreshToken
                let second = try await tokens.refresh(first).decode(AuthResponse.self).refreshToken
                let third = try await tokens.refresh(second).decode(AuthResponse.self).refreshToken
                let early = try await tokens.refresh(first)
                #expect(early.status == 503)
                #expect(early.header("Retry-After") != nil)
                try await tokens.age(by: 31)
                let theft = try await tokens.refresh(first)
                #expect(theft.status == 401)
                #expect(theft.code == "INVALID_REFRESH_TOKEN")
                #expect(try await tokens.refresh(third).code == "INVALID_REFRESH_TOKEN")
            }
        }

        /// A client that makes up key ids is limited; clients with real tokens under an unknown key are not.
        @Test func unknownKeyIDsAreLimited() async throws {
            try await RunningTokens.with { tokens in
                let stranger = [HeaderName.credential: "gateway-secret", HeaderName.clientAddress: "192.0.2.66"]
                let answers = try await withThrowingTaskGroup(of: TestHTTPClient.Response.self) { group in
                    for path in ["/v1/auth/refresh", "/v1/auth/logout"] {
                        for _ in 0..<40 {
                            group.addTask {
                                let token = RefreshToken(sessionID: UUID(), generation: 0, keys: .sample(ids: [200]))
                                return try await tokens.client.post(
                                    path, json: RefreshRequest(refreshToken: token.text), headers: stranger)
                            }
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                let limited = answers.filter { $0.code == "RATE_LIMITED" }
                // `UnknownKeyLimitTests` has how many.
                #expect(!limited.isEmpty && answers.count - limited.count >= 10)
                #expect(limited.allSatisfy { $0.status == 429 && $0.header("Retry-After") != nil })

                let session = try await tokens.signIn()
                let genuine = RefreshToken(
                    sessionID: session.sessionID, generation: 0, keys: .sample(ids: [200]))
                try await tokens.pool.query(
                    "UPDATE sessions SET current_hash = \(genuine.hash) WHERE id = \(session.sessionID)")
                let elsewhere = [HeaderName.credential: "gateway-secret", HeaderName.clientAddress: "192.0.2.7"]
                let answer = try await tokens.client.post(
                    "/v1/auth/refresh", json: RefreshRequest(refreshToken: genuine.text), headers: elsewhere)
                #expect(answer.status == 200)
            }
        }

        @Test func badInputIsRefused() async throws {
            try await RunningTokens.with { tokens in
                let path = "/v1/auth/refresh"
                for body in [
                    "{}", "{\"refreshToken\":1}", "{\"refreshToken\":null}", "[]", "{",
                    "{\"refreshToken\":\"a\",\"refreshToken\":\"b\"}", "{\"refreshToken\":\"a\"} x",
                    "\u{FEFF}{\"refreshToken\":\"a\"}", "{\"refreshToken\":\"a\\u0000\"}",
                ] {
                    let answer = try await tokens.client.post(path, text: body)
                    #expect(answer.status == 400, "\(body)")
                    #expect(answer.code == "INVALID_REQUEST")
                }
                #expect(try await tokens.client.post(path).code == "INVALID_REQUEST")
                let junk = try await tokens.client.post(path, text: "{\"refreshToken\":\"junk\"}")
                #expect(junk.code == "INVALID_REFRESH_TOKEN")
                let plain = try await tokens.client.post(path, text: "{}", headers: ["Content-Type": "text/plain"])
                #expect(plain.code == "UNSUPPORTED_MEDIA_TYPE")
                let large = try await tokens.client.post(path, text: String(repeating: " ", count: 70_000))
                #expect(large.code == "PAYLOAD_TOO_LARGE")
                let get = try await tokens.client.get(path)
                #expect(get.code == "METHOD_NOT_ALLOWED")
                #expect(get.header("Allow") == "POST")
                #expect(try await tokens.client.get("/v1/auth/nothing").code == "NOT_FOUND")
            }
        }

        @Test func anExpiredBearerIsIgnored() async throws {
            try await RunningTokens.with { tokens in
                let session = try await tokens.signIn()
                let answer = try await tokens.client.post(
                    "/v1/auth/refresh", json: RefreshRequest(refreshToken: session.auth.refreshToken),
                    headers: ["Authorization": "Bearer junk"])
                #expect(answer.status == 200)
            }
        }

        @Test("PostgreSQL is away or silent: 503, and no restart is needed when it is back", arguments: [true, false])
        func postgresOutage(killed: Bool) async throws {
            try await withPostgresServer { server in
                try await RunningTokens.with(databaseURL: server.url()) { tokens in
                    let session = try await tokens.signIn()
                    if killed { await server.kill() } else { await server.freeze() }
                    let answer = try await tokens.refresh(session.auth.refreshToken)
                    #expect(answer.status == 503)
                    #expect(answer.code == "UNAVAILABLE")
                    #expect(answer.header("Retry-After") != nil)
                    #expect(try await tokens.refresh("ghrt_junk").code == "INVALID_REFRESH_TOKEN", "needs no look-up")
                    if killed { try await server.restart() } else { await server.thaw() }
                    try await eventually("a refresh succeeds again") {
                        try await tokens.refresh(session.auth.refreshToken).status == 200
                    }
                }
            }
        }

        /// Redis that hangs costs a moment, not the answer.
        @Test func aHungRedisChangesNothing() async throws {
            try await withRedisServer { server in
                try await RunningTokens.with(settings: ["TOKENS_REDIS_URL": server.url]) { tokens in
                    var token = try await tokens.signIn().auth.refreshToken
                    await server.freeze()
                    for _ in 0..<10 {
                        let answer = try await tokens.refresh(token)
                        #expect(answer.status == 200)
                        token = try answer.decode(AuthResponse.self).refreshToken
                    }
                    await server.thaw()
                    #expect(try await tokens.refresh(token).status == 200)
                }
            }
        }
    }
}
