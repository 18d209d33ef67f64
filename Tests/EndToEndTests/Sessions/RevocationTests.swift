import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

extension FaultTests {
    /// Every gateway learns of every session that ends, whatever became of its way to tokens meanwhile.
    @Suite struct Revocations {
        let system = GatehouseSystem.current

        @Test("A session is revoked: every gateway refuses its access token")
        func everyGateway() async throws {
            try await system.withGateway { second in
                try await second.start()
                let journeys = [system.journey, system.journey(through: second)]
                for _ in 0..<3 {
                    let session = try await system.journey.register()
                    for journey in journeys { #expect(try await journey.me(session.accessToken).status == 200) }
                    let logout = try await system.gateway.call(
                        "POST", "/v1/auth/logout", json: LogoutRequest(refreshToken: session.refreshToken))
                    #expect(logout.status == 204, "\(logout.text)")
                    for journey in journeys { try await journey.expectRefused(session.accessToken) }
                }
            }
        }

        /// A replica answers the sign-out and is killed or stopped before its entry has a number. The answer does not
        /// wait for that, and another replica's sequencer does not wait for a stopped one.
        @Test(arguments: ["killed", "stopped"])
        func aRevocationSurvivesTheReplicaThatMadeIt(fault: String) async throws {
            try await system.withReplica(of: "tokens") { replica in
                try await replica.start()
                let session = try await system.journey.register()
                #expect(try await system.journey.me(session.accessToken).status == 200)
                try await system.withDatabase(of: "tokens") { sequencers in
                    try await sequencers.withTransaction { transaction in
                        try await transaction.query("SELECT only_row FROM revocation_head FOR UPDATE")
                        let logout = try await TestHTTPClient(replica.url).post(
                            "/v1/auth/logout", json: LogoutRequest(refreshToken: session.refreshToken))
                        #expect(logout.status == 204, "\(logout.text)")
                        if fault == "killed" { await replica.kill() } else { await replica.suspend() }
                    }
                }
                try await system.journey.expectRefused(session.accessToken)
                if fault == "stopped" { replica.resume() }
            }
        }

        /// For how long it was cut off makes no difference but to how much has piled up: the long poll broke, and three
        /// pages and a bit wait.
        @Test func aGatewayThatWasCutOffLearnsEveryRevocation() async throws {
            try await withTokensBehindProxy { proxy, gateway in
                try await gateway.start()
                let journey = system.journey(through: gateway)
                let kept = try await system.journey.register()
                let crowd = try await crowd()
                proxy.sever()
                try await eventually("the gateway has lost the feed") {
                    try await gateway.metric("gatehouse_gateway_revocation_feed_lost") == 1
                }
                try await end(crowd)
                for session in crowd + [kept] {
                    #expect(try await journey.me(session.accessToken).status == 200, "it cannot know yet")
                }

                proxy.join()
                for session in crowd {
                    try await eventually("the gateway refuses what was revoked meanwhile") {
                        try await journey.me(session.accessToken).code == "INVALID_TOKEN"
                    }
                }
                try await eventually("it knows as many as the one that was never cut off") {
                    let known = try await gateway.metric("gatehouse_gateway_revoked_sessions")
                    let all = try await system.process("gateway").metric("gatehouse_gateway_revoked_sessions") ?? 0
                    return known == all && all >= Double(crowd.count * (1 + Self.others))
                }
                #expect(try await journey.me(kept.accessToken).status == 200)
                // It says that it heard of them late, and that it is at the end again.
                let late = try await gateway.metric("gatehouse_gateway_revocation_delay_seconds_count")
                #expect((late ?? 0) >= Double(crowd.count * (1 + Self.others)))
                #expect(try await gateway.metric("gatehouse_gateway_revocation_feed_lost") == 0)
            }
        }

        @Test func devicesReportsThatItLostTheFeed() async throws {
            try await withTCPProxy(to: try #require(system.process("tokens").url.port)) { proxy in
                let settings = ["DEVICES_TOKENS_URL": "http://127.0.0.1:\(proxy.port)"]
                try await system.withReplica(of: "devices", settings: settings) { devices in
                    try await devices.start()
                    let started = try await devices.metric("devices_revocation_feed_read_timestamp_seconds") ?? 0
                    #expect(started > 0 && started <= Date.now.timeIntervalSince1970)
                    proxy.sever()
                    try await eventually("devices has lost the feed") {
                        try await devices.metric("devices_revocation_feed_lost") == 1
                    }
                    proxy.join()
                    let session = try await system.journey.register()
                    let logout = try await system.gateway.call(
                        "POST", "/v1/auth/logout", json: LogoutRequest(refreshToken: session.refreshToken))
                    #expect(logout.status == 204, "\(logout.text)")
                    try await eventually("devices is at the feed's end again") {
                        let readAt = try await devices.metric("devices_revocation_feed_read_timestamp_seconds") ?? 0
                        return try await devices.metric("devices_revocation_feed_lost") == 0 && readAt > started
                    }
                }
            }
        }

        @Test func aStartingGatewayIsNotReadyBeforeItKnowsEveryRevocation() async throws {
            let kept = try await system.journey.register()
            let crowd = try await crowd()
            try await end(crowd)
            let page = try await TestHTTPClient(system.process("tokens").url).get(
                "/internal/revocations?wait=0&form=access",
                headers: [HeaderName.credential: try #require(system.settings["GATEWAY_TOKENS_CREDENTIAL"])])
            let hasMore = try page.decode(AccessRevocationPage.self).more
            try #require(hasMore)

            try await withTokensBehindProxy { proxy, gateway in
                let journey = system.journey(through: gateway)
                let admin = TestHTTPClient(gateway.adminURL)
                // In the middle of the second page.
                proxy.sever(afterBytesFromServer: page.body.count * 5 / 4)
                try gateway.launch()
                try await eventually("the gateway has read the first page") {
                    let known = try? await gateway.metric("gatehouse_gateway_revoked_sessions")
                    return (known ?? 0) > 0
                }
                #expect(try await admin.get("/readyz").status == 503)
                for session in crowd + [kept] {
                    let answer = try await journey.me(session.accessToken)
                    #expect(answer.status == 503, "\(answer.text)")
                }

                proxy.join()
                try await eventually("the gateway serves", every: .zero) {
                    let serves = try await journey.me(kept.accessToken).status == 200
                    for session in crowd {
                        let answer = try await journey.me(session.accessToken)
                        #expect(
                            answer.code == "INVALID_TOKEN" || answer.status == 503 && !serves,
                            "\(answer.status) \(answer.text)")
                    }
                    return serves
                }
                // Readiness is looked at every now and then.
                try await eventually("the gateway is ready") { try await admin.get("/readyz").status == 200 }
            }
        }

        // MARK: -

        /// Sessions that are ended along with each that the test holds: three times as many and one fill three pages.
        private static let others = 1_000

        /// Three users, each with the session that is returned and many copies of it.
        private func crowd() async throws -> [AuthResponse] {
            var held: [AuthResponse] = []
            for _ in 0..<3 { held.append(try await system.journey.register()) }
            try await system.withDatabase(of: "tokens") { connection in
                for session in held {
                    try await connection.query(
                        """
                        INSERT INTO sessions (
                            bucket, id, user_id, credentials_version, current_hash, created_at, rotated_at, expires_at,
                            absolute_expires_at, access_expires_at, authenticated_at, authentication_methods,
                            expiry_day)
                        SELECT bucket, gen_random_uuid(), user_id, credentials_version, current_hash, created_at,
                            rotated_at, expires_at, absolute_expires_at, access_expires_at, authenticated_at,
                            authentication_methods, expiry_day
                        FROM sessions, generate_series(1, \(Self.others)) WHERE user_id = \(session.user.id)
                        """)
                }
            }
            return held
        }

        /// Ends all sessions of these users.
        private func end(_ crowd: [AuthResponse]) async throws {
            for session in crowd {
                let answer = try await system.gateway.call(
                    "POST", "/v1/auth/logout-all", bearer: session.accessToken, body: nil)
                #expect(answer.status == 204, "\(answer.text)")
            }
        }

        /// Runs `body` with a gateway, not yet started, whose way to tokens can be cut.
        private func withTokensBehindProxy(_ body: (TCPProxy, ServiceProcess) async throws -> Void) async throws {
            try await withTCPProxy(to: try #require(system.process("tokens").url.port)) { proxy in
                let settings = ["GATEWAY_TOKENS_URL": "http://127.0.0.1:\(proxy.port)"]
                try await system.withGateway(settings: settings) { try await body(proxy, $0) }
            }
        }
    }
}
