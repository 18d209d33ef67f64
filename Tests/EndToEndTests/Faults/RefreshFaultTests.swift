import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

/// Clients refresh while replicas, PostgreSQL, Redis and the connections between them fail: no user is signed out, no
/// session forks, and no client is told anything but 200 and 503.
///
/// Runs for a given time: half a minute with `make test`, two with `make test-faults`.
@Suite(.systemPermit) struct RefreshFaultTests {
    @Test func noUserIsSignedOut() async throws {
        let plan = try FaultPlan()
        let ports = try SystemPorts(tokensReplicas: Fault.replicas.count)
        try await withTCPProxy(to: ports.port("tokens-2")) { proxy in
            // The second replica is reached by way of the proxy, the first directly: a port that refuses connections
            // and one that cuts them are different faults to a gateway.
            let urls = "\(ports.url("tokens")),http://127.0.0.1:\(proxy.port)"
            let settings = SystemSettings.impatient(["GATEWAY_TOKENS_URL": urls])
            try await GatehouseSystem.run(ports: ports, settings: settings) { system in
                try await refreshUnderFaults(plan, system, proxy)
            }
        }
    }

    private func refreshUnderFaults(_ plan: FaultPlan, _ system: GatehouseSystem, _ proxy: TCPProxy) async throws {
        print("Faults for \(plan.duration) on \(plan.clients) clients; GATEHOUSE_FAULT_SEED=\(plan.seed)")
        let sessions = try await signIn(plan, system)
        var clients = self.clients(of: sessions, plan, system)
        let end = ContinuousClock.now + plan.duration
        let injector = FaultInjector(system: system, proxy: proxy)
        async let faults = injector.run(until: end, random: SeededGenerator(seed: plan.seed))
        clients = try await each(clients) { try await $0.refresh(until: end) }
        let struck = try await faults
        report(clients, struck)

        // Most are served: an outage is told of, and ends.
        let answers = clients.reduce(into: [:]) { $0.merge($1.statuses, uniquingKeysWith: +) }
        #expect(answers[200, default: 0] > answers[503, default: 0])
        #expect(sessions.allSatisfy { $0.rotations > 0 })
        // A connection that ends breaks one answer off at the most.
        let ends = struck.count { [.network, .process("tokens"), .process("tokens-2")].contains($0.victim) }
        #expect(clients.reduce(0) { $0 + $1.brokenOff } <= ends)
        expectNoViolation(clients)
        // The last rotation may be one whose answer was lost or given up; nothing else is uncertain.
        let generations = try await generations(system)
        #expect(generations.count == plan.clients)
        for session in sessions {
            let generation = try #require(generations[session.held.user.id], "the session is gone")
            #expect((session.rotations...session.rotations + 1).contains(generation))
        }
        try await everySessionWorks(sessions, plan, system)
    }

    private func signIn(_ plan: FaultPlan, _ system: GatehouseSystem) async throws -> [StoredSession] {
        var sessions: [AuthResponse] = []
        // A few at a time: a password's hash is work for a core.
        while sessions.count < plan.clients {
            sessions += try await withThrowingTaskGroup(of: AuthResponse.self) { group in
                for _ in 0..<min(4, plan.clients - sessions.count) {
                    group.addTask { try await system.journey.register() }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }
        return sessions.map { StoredSession($0) }
    }

    /// A third of the apps do not wait long. A fifth have two processes, the second of which never does: requests of
    /// one session are under way at once in either case.
    private func clients(
        of sessions: [StoredSession], _ plan: FaultPlan, _ system: GatehouseSystem
    ) -> [RefreshingClient] {
        let gateway = system.process("gateway").url
        return sessions.enumerated().flatMap { number, session in
            let seed = plan.seed &* 1_000_003 &+ 2 * UInt64(number)
            let first = RefreshingClient(
                session, gateway: gateway, isPatient: !number.isMultiple(of: 3), random: SeededGenerator(seed: seed))
            guard number.isMultiple(of: 5) else { return [first] }
            let second = RefreshingClient(
                session, gateway: gateway, isPatient: false, random: SeededGenerator(seed: seed + 1))
            return [first, second]
        }
    }

    /// A last refresh of each session succeeds, its row counts as many rotations as its app was given tokens, and its
    /// user has that one session.
    private func everySessionWorks(
        _ sessions: [StoredSession], _ plan: FaultPlan, _ system: GatehouseSystem
    ) async throws {
        let gateway = system.process("gateway").url
        let clients = sessions.map { RefreshingClient($0, gateway: gateway, random: SeededGenerator(seed: plan.seed)) }
        let settled = try await each(clients) { client in
            var settled = client
            try await eventually("a client refreshes") { try await settled.refreshOnce() == .renewed }
            client = settled
            let token = client.session.held.accessToken
            try await eventually("its user has that one session") {
                let sessions = try await system.gateway.call("GET", "/v1/auth/sessions", bearer: token)
                // The last fault may not be over, and all clients ask at once.
                if sessions.status == 503 { return false }
                #expect(sessions.status == 200, "\(sessions.text)")
                #expect(try sessions.decode(SessionList.self).sessions.map(\.current) == [true])
                return true
            }
        }
        expectNoViolation(settled)
        let generations = try await generations(system)
        for session in sessions { #expect(generations[session.held.user.id] == session.rotations) }
    }

    private func expectNoViolation(_ clients: [RefreshingClient]) {
        for violation in Set(clients.flatMap(\.violations)) { Issue.record("a client was told: \(violation)") }
    }

    private func each(
        _ clients: [RefreshingClient], _ body: @escaping @Sendable (inout RefreshingClient) async throws -> Void
    ) async throws -> [RefreshingClient] {
        try await withThrowingTaskGroup(of: RefreshingClient.self) { group in
            for var client in clients {
                group.addTask {
                    try await body(&client)
                    return client
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    /// By user. Each user has one session.
    private func generations(_ system: GatehouseSystem) async throws -> [UUID: Int] {
        let url = try #require(system.databases["tokens"])
        let connection = try await PostgresConnection.patient(url)
        let rows = try await connection.query("SELECT user_id, generation FROM sessions")
            .map { row throws(PostgresError) in try row.decode((UUID, Int32).self) }
        await connection.close()
        #expect(Set(rows.map(\.0)).count == rows.count, "a user has two sessions")
        return Dictionary(rows.map { ($0, Int($1)) }) { first, _ in first }
    }

    private func report(_ clients: [RefreshingClient], _ faults: [Fault]) {
        let statuses = clients.reduce(into: [:]) { $0.merge($1.statuses, uniquingKeysWith: +) }
        let longest = clients.map(\.longest).max() ?? .zero
        print("\(faults.count) faults: \(faults.map(\.description).joined(separator: ", "))")
        let counts = statuses.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }.joined(separator: ", ")
        let brokenOff = clients.reduce(0) { $0 + $1.brokenOff }
        let givenUp = clients.reduce(0) { $0 + $1.givenUp }
        print("Answers: \(counts), \(brokenOff) broken off, \(givenUp) not waited for; longest: \(longest)")
    }
}
