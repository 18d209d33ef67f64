import Foundation
import GatehouseServiceContracts

/// What an app does, measured through the gateway against the whole running system.
struct SystemBenchmarks {
    let system: RunningSystem
    let client: GatewayClient
    let schedule: Schedule
    /// Where the route `/bench` of the gateway under measurement leads.
    let upstreamPort: Int

    func run() async throws {
        Table.header("Through the gateway")
        let upstream = try await StaticUpstream.start(port: upstreamPort)
        Table.line(try await proxiedGetWithOneToken())
        Table.line(try await proxiedGetWithNewTokens())
        try await upstream.stop()
        Table.line(try await register())
        Table.line(try await signInWithApple())
        Table.line(try await registerDevice())
        Table.line(try await registerDeviceAgain())
    }

    private func proxiedGetWithOneToken() async throws -> Measurement {
        let bearer = try system.accessToken(signer: system.signer())
        return try await measure(
            "proxied GET, token seen before", workers: Array(repeating: bearer, count: 16),
            watching: system.processes("gateway"), schedule: schedule
        ) { bearer in try await client.get("/bench", bearer: bearer) }
    }

    /// No token is presented twice, so that none can come from the gateway's cache.
    private func proxiedGetWithNewTokens() async throws -> Measurement {
        let workers = 16
        let perWorker = Int((schedule.warmUp + schedule.measured).seconds) * 12_000 / workers
        let stocks = try await withThrowingTaskGroup { group in
            for _ in 0..<workers {
                group.addTask {
                    let signer = try system.signer()
                    return (
                        signer: signer, tokens: try (0..<perWorker).map { _ in try system.accessToken(signer: signer) }
                    )
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        return try await measure(
            "proxied GET, each token new", workers: stocks, watching: system.processes("gateway"), schedule: schedule
        ) { stock in
            // When the stock is used up the client signs as it goes, which slows it down but costs the gateway nothing.
            let bearer = try stock.tokens.popLast() ?? system.accessToken(signer: stock.signer)
            try await client.get("/bench", bearer: bearer)
        }
    }

    private func register() async throws -> Measurement {
        try await measure(
            "registration with a password", workers: [0, 1],
            watching: system.processes("gateway", "identity", "tokens", "postgres", "redis"), schedule: schedule
        ) { _ in
            _ = try await client.register(identifier: GatewayClient.newIdentifier(), password: GatewayClient.password)
        }
    }

    /// Of users who are known: each time with a new identity token and a code, of which Apple is told afterwards.
    private func signInWithApple() async throws -> Measurement {
        let apple = SimulatedApple(origin: try system.value("APPLE_SIMULATOR_URL"), http: client.http)
        return try await measure(
            "sign-in with Apple", workers: (0..<8).map { "bench-\($0)" },
            watching: system.processes("gateway", "identity", "tokens", "postgres", "redis"), schedule: schedule
        ) { person in
            let signedIn = try await apple.signIn(person)
            try await client.signInWithApple(
                identityToken: signedIn.identityToken, authorizationCode: signedIn.authorizationCode)
        }
    }

    private func registerDevice() async throws -> Measurement {
        // A user may register 200 new tokens a day.
        var users: [[String]] = Array(repeating: [], count: 8)
        for number in 0..<64 { users[number % 8].append(try await client.newSession().accessToken) }
        return try await measure(
            "device registration", workers: users,
            watching: system.processes("gateway", "devices", "postgres"), schedule: schedule
        ) { bearers in
            try await client.registerDevice(token: Self.newDeviceToken(), bearer: bearers.randomElement()!)
        }
    }

    /// What apps do at every start.
    private func registerDeviceAgain() async throws -> Measurement {
        var devices: [(token: String, bearer: String)] = []
        for _ in 0..<8 { devices.append((Self.newDeviceToken(), try await client.newSession().accessToken)) }
        return try await measure(
            "device registration, unchanged", workers: devices,
            watching: system.processes("gateway", "devices", "postgres"), schedule: schedule
        ) { device in try await client.registerDevice(token: device.token, bearer: device.bearer) }
    }

    private static func newDeviceToken() -> String {
        (UUID().uuidString + UUID().uuidString).replacingOccurrences(of: "-", with: "")
    }
}
