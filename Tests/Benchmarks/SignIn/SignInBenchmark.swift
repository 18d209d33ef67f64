import Foundation
import Postgres

/// Signing in with Apple and with a password: beside what each cannot do without, and among few users and many.
struct SignInBenchmark {
    let system: RunningSystem
    let client: GatewayClient
    let schedule: Schedule
    /// The many; a multiple of 100,000.
    let users: Int

    private static let few = 10_000
    private static let rounds = 3
    /// The first users have as many sessions as a user may have.
    private static let crowded = 2
    private static let workers = 8
    /// More than are taken in any run.
    private static let signInsPerSecond = 600

    /// The order of a round's lines.
    private enum Line: Int { case apple, verify, sign, identity, tokens, login, crowded, hash }

    func run() async throws {
        let registered = GatewayClient.newIdentifier()
        _ = try await client.register(identifier: registered, password: GatewayClient.password)
        let table = try await UserTable.open(system.value("IDENTITY_DATABASE_URL"))
        let sessions = try await SessionTable.open(system.value("TOKENS_DATABASE_URL"))
        try await table.fill(to: Self.few, passwordOf: registered)
        try await sessions.empty()
        try await sessions.fill(to: Self.few)
        try await sessions.crowd(users: Self.crowded, with: 100)
        let small = try await lines(Self.few)
        report(small)
        if users > Self.few {
            try await table.fill(to: users, present: Self.few, passwordOf: registered)
            try await sessions.fill(to: users, present: Self.few)
            let large = try await lines(users)
            for line in [Line.apple, .login, .sign] {
                let (one, other) = (small[line.rawValue], large[line.rawValue])
                Table.note(
                    "\(one.name) among \(users) users: "
                        + "\(Table.ratio(other.microsecondsInAll / one.microsecondsInAll)) times that among \(Self.few); "
                        + "target: at most 1.25.")
            }
        }
        try await sessions.empty()
        await table.connection.close()
        await sessions.connection.close()
    }

    /// All in turn, several times over, since the speed of a shared machine changes from one moment to the next.
    private func lines(_ users: Int) async throws -> [Measurement] {
        Table.header("Signing in, among \(users) users")
        var lines = try await round(users)
        for _ in 1..<Self.rounds {
            for (index, again) in try await round(users).enumerated() { lines[index] += again }
        }
        for line in lines { Table.line(line) }
        return lines
    }

    private func round(_ users: Int) async throws -> [Measurement] {
        let openSSL = try await OpenSSLSpeed.rsa2048(
            seconds: schedule.wholeSeconds, processes: ProcessInfo.processInfo.activeProcessorCount)
        let statements = SignInStatements(users: users)
        return [
            try await apple(users), openSSL.verify, openSSL.sign,
            try await pgbench("IDENTITY").measure(
                "pgbench: identity's statements", script: statements.identity, workers: Self.workers,
                until: .schedule(schedule)),
            try await pgbench("TOKENS").measure(
                "pgbench: tokens' statements", script: statements.tokens, workers: Self.workers,
                until: .schedule(schedule)),
            try await login("password login", Self.crowded + 1...users),
            // Each ends the session that was used longest ago, of which gateway and devices are told.
            try await login("password login that ends a session", 1...Self.crowded),
            try SystemBenchmarks.argon2Alone(schedule),
        ]
    }

    private func pgbench(_ service: String) throws -> PGBench {
        PGBench(url: try system.value("\(service)_DATABASE_URL"), server: try system.process("postgres"))
    }

    /// Each with an identity token of its own.
    private func apple(_ users: Int) async throws -> Measurement {
        let seconds = (schedule.warmUp + schedule.measured).seconds + 1
        let tokens = try await AppleTokens(origin: system.value("APPLE_SIMULATOR_URL"), http: client.http)
            .make(Int(seconds) * Self.signInsPerSecond, users: users)
        let shares = (0..<Self.workers).map { worker in
            tokens.indices.filter { $0 % Self.workers == worker }.map { tokens[$0] }
        }
        return try await measure(
            "Apple sign-in", workers: shares, watching: processes(), schedule: schedule
        ) { share in
            guard let token = share.popLast() else { throw BenchmarkError("too few tokens for so fast a machine") }
            try await client.signInWithApple(identityToken: token)
        }
    }

    private func login(_ name: String, _ users: ClosedRange<Int>) async throws -> Measurement {
        try await measure(name, workers: [0, 1], watching: processes(), schedule: schedule) { _ in
            try await client.logIn(
                identifier: UserTable.identifier(.random(in: users)), password: GatewayClient.password)
        }
    }

    private func processes() throws -> [WatchedProcess] {
        try system.processes("gateway", "identity", "tokens", "postgres", "redis")
    }

    private func report(_ lines: [Measurement]) {
        func cost(_ line: Line) -> Double { lines[line.rawValue].microsecondsInAll }
        let parts = [Line.verify, .sign, .identity, .tokens].reduce(0) { $0 + cost($1) }
        Table.note(
            "An Apple sign-in takes \(Table.ratio(cost(.apple) / parts)) times its parts, which take "
                + "\(Table.number(parts)) µs together; target: at most 3.")
        let login = lines[Line.login.rawValue]
        let postgres = login.cpu.filter { $0.process == "postgres" }.reduce(0) { $0 + login.microseconds($1.time) }
        Table.note(
            "A password login takes \(Table.ratio((cost(.login) - postgres) / cost(.hash))) times the bare hash beyond "
                + "PostgreSQL's part; target: at most 1.08.")
    }
}
