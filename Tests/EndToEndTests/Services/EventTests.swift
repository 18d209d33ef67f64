import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

extension SystemTests {
    /// What other systems are told of users, by the built programs.
    @Suite struct Events {
        private struct Known: Decodable {
            var events: [String]
        }

        let system = GatehouseSystem.current

        /// Runs the example service, and a further identity that posts to it.
        private func run(
            _ body: (_ follower: TestHTTPClient, _ identity: ServiceProcess, _ webhook: String) async throws -> Void
        ) async throws {
            let port = try freePort()
            let webhook = "http://127.0.0.1:\(port)/events"
            let secret = "dev-\(UUID().uuidString)"
            let script = OwnService.examples.appending(path: "python/events.py").path()
            let example = try TestProcess(
                "python3", [script, "\(port)"],
                environment: [
                    "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "", "EVENTS_SECRETS": "dev-old,\(secret)",
                ])
            let follower = TestHTTPClient(URL(string: "http://127.0.0.1:\(port)")!)
            do {
                try await eventually("the example listens") { (try? await follower.get("/users/nobody")) != nil }
                try await system.withReplica(
                    of: "identity",
                    settings: [
                        "IDENTITY_WEBHOOK_URLS": webhook,
                        "IDENTITY_WEBHOOK_SECRETS": secret, "IDENTITY_EVENTS_CREDENTIALS": "dev-follower",
                    ]
                ) { identity in
                    try await identity.start()
                    try await body(follower, identity, webhook)
                }
            } catch {
                await example.kill9()
                throw error
            }
            await example.kill9()
        }

        @Test func theExampleReceivesEveryEventOfAUser() async throws {
            try await run { follower, identity, webhook in
                // The example reads events from now on: it has to have read a page first.
                try await eventually("the webhook is known") {
                    try await system.withDatabase(of: "identity") {
                        // Another test's may be there, too.
                        try await $0.query("SELECT url FROM webhooks WHERE url = \(webhook)").count == 1
                    }
                }
                try await theFeedIsFollowed()
                let start = try await self.start(identity)
                let session = try await system.journey.register()
                let id = session.user.id.uuidString.lowercased()
                let bearer = ["Authorization": "Bearer \(session.accessToken)"]
                #expect(try await system.gateway.send("DELETE", "/v1/auth/account", headers: bearer).status == 202)
                let whole = ["user.created", "session.created", "user.deleted", "session.revoked"]
                try await eventually("the example knows") {
                    try await follower.get("/users/\(id)").decode(Known.self).events == whole
                }
                // The feed says the same, to who shows its credential.
                let events = try await events(of: session.user.id, after: start, whole.count, from: identity)
                #expect(events.map(\.type.rawValue) == whole)
                #expect(events.last?.reason == .accountDeleted && events.last?.sessionID == events[1].sessionID)
                for credential in ["", "dev-wrong", system.settings["GATEWAY_IDENTITY_CREDENTIAL"] ?? ""] {
                    let refused = try await TestHTTPClient(identity.url).get(
                        "/internal/events", headers: [HeaderName.credential: credential])
                    #expect(refused.status == 403)
                }
            }
        }

        /// Some identity has read tokens' feed: what ended before that is not told.
        private func theFeedIsFollowed() async throws {
            try await eventually("sessions' ends are followed") {
                try await system.withDatabase(of: "identity") {
                    try await $0.query("SELECT cursor FROM revocation_feed WHERE cursor IS NOT NULL").count == 1
                }
            }
        }

        private func page(_ query: String, from identity: ServiceProcess) async throws -> AccountEventPage {
            try await TestHTTPClient(identity.url).get(
                "/internal/events?\(query)", headers: [HeaderName.credential: "dev-follower"]
            ).decode()
        }

        private func start(_ identity: ServiceProcess) async throws -> String {
            try await page("after=latest", from: identity).cursor
        }

        /// Reads on until there are so many events of the user.
        private func events(
            of user: UUID, after start: String, _ count: Int, from identity: ServiceProcess
        ) async throws -> [AccountEvent] {
            var (events, cursor): ([AccountEvent], String) = ([], start)
            try await eventually("the feed has them") {
                let page = try await page("wait=5&after=\(cursor)", from: identity)
                cursor = page.cursor
                events += page.events.filter { $0.userID == user }
                return events.count >= count
            }
            return events
        }

        /// Sessions end by a sign-out, by a token that was used again, and by a sign-out everywhere.
        @Test func everyEndOfASessionIsReportedWithItsReason() async throws {
            try await system.withReplica(
                of: "identity", settings: ["IDENTITY_EVENTS_CREDENTIALS": "dev-follower"]
            ) { identity in
                try await identity.start()
                try await theFeedIsFollowed()
                let start = try await start(identity)
                let email = Journey.uniqueEmail()
                let first = try await system.journey.register(identifier: email)
                let loggedOut = try await system.gateway.call(
                    "POST", "/v1/auth/logout", json: LogoutRequest(refreshToken: first.refreshToken))
                #expect(loggedOut.status == 204)

                let stolen = try await login(email)
                var token = stolen.refreshToken
                for _ in 0..<2 {
                    token = try await system.journey.refresh(token).decode(AuthResponse.self).refreshToken
                }
                try await system.age(stolen, by: 61)
                #expect(try await system.journey.refresh(stolen.refreshToken).code == "INVALID_REFRESH_TOKEN")

                let last = try await login(email)
                let everywhere = try await system.gateway.call(
                    "POST", "/v1/auth/logout-all", bearer: last.accessToken, body: nil)
                #expect(everywhere.status == 204)

                let events = try await events(of: first.user.id, after: start, 7, from: identity)
                let begun = events.filter { $0.type == .sessionCreated }.compactMap(\.sessionID)
                let ended = events.filter { $0.type == .sessionRevoked }
                #expect(events.count == 7 && begun.count == 3)
                #expect(ended.map(\.sessionID) == begun)
                #expect(ended.map(\.reason) == [.logout, .replay, .logout])
            }
        }

        private func login(_ email: String) async throws -> AuthResponse {
            let answer = try await system.gateway.call(
                "POST", "/v1/auth/login", json: LoginRequest(identifier: email, password: Journey.password))
            try #require(answer.status == 200, "\(answer.text)")
            return try answer.decode()
        }

        @Test func theExampleAcceptsGatehouseAlone() async throws {
            try await run { follower, _, _ in
                let body = Data(#"{"events":[{"id":"1","type":"user.created","userID":"eve"}]}"#.utf8)
                for signature in [nil, "", "t=1,v1=00", "t=1700000000,v1=\(String(repeating: "0", count: 64))"] {
                    var headers = ["Content-Type": "application/json"]
                    headers["Gatehouse-Signature"] = signature
                    let refused = try await follower.send("POST", "/events", headers: headers, body: body)
                    #expect(refused.status == 403)
                }
                let unknown = try await follower.get("/users/eve")
                #expect(unknown.status == 404)
            }
        }
    }
}
