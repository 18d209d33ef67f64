import Contracts
import Foundation
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
            let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent().deletingLastPathComponent()
                .appending(path: "deploy/examples/python/events.py").path()
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

        @Test func theExampleFollowsAUserFromTheFirstToTheLast() async throws {
            try await run { follower, identity, webhook in
                // Begins with what happens from now on: somebody has to have been told first.
                try await eventually("the webhook is known") {
                    try await system.withDatabase(of: "identity") {
                        // Another test's may be there, too.
                        try await $0.query("SELECT url FROM webhooks WHERE url = \(webhook)").count == 1
                    }
                }
                let start: AccountEventPage = try await TestHTTPClient(identity.url).get(
                    "/internal/events?after=latest", headers: [HeaderName.credential: "dev-follower"]
                ).decode()
                let session = try await system.journey.register()
                let id = session.user.id.uuidString.lowercased()
                let bearer = ["Authorization": "Bearer \(session.accessToken)"]
                #expect(try await system.gateway.send("DELETE", "/v1/auth/account", headers: bearer).status == 202)
                let whole = ["user.created", "session.created", "user.deleted"]
                try await eventually("the example knows") {
                    try await follower.get("/users/\(id)").decode(Known.self).events == whole
                }
                // The feed says the same, to who shows its credential.
                var types: [String] = []
                var cursor = start.cursor
                try await eventually("the feed has it") {
                    let page: AccountEventPage = try await TestHTTPClient(identity.url).get(
                        "/internal/events?wait=5&after=\(cursor)", headers: [HeaderName.credential: "dev-follower"]
                    ).decode()
                    cursor = page.cursor
                    types += page.events.filter { $0.userID == session.user.id }.map(\.type.rawValue)
                    return types == whole
                }
                for credential in ["", "dev-wrong", system.settings["GATEWAY_IDENTITY_CREDENTIAL"] ?? ""] {
                    let refused = try await TestHTTPClient(identity.url).get(
                        "/internal/events", headers: [HeaderName.credential: credential])
                    #expect(refused.status == 403)
                }
            }
        }

        @Test func theExampleBelievesGatehouseAlone() async throws {
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
