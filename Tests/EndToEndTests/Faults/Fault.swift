import Postgres
import Redis
import TestKit

/// What may happen to a running system, and how it is put right again.
enum Fault: Hashable, CaseIterable {
    case replicaKilled(String)
    case replicaStopped(String)
    /// Between the gateway and the second replica, in the middle of an answer.
    case answerCut
    case redisFlushed
    case redisKilled
    case redisStopped
    case redisConnectionsCut
    case postgresKilled
    case postgresConnectionsCut

    /// What is struck: never by two faults at a time.
    enum Victim: Hashable { case process(String), network, redis, postgres }

    static let replicas = ["tokens", "tokens-2"]

    static let allCases: [Fault] =
        replicas.flatMap { [replicaKilled($0), replicaStopped($0)] }
        + [
            answerCut, redisFlushed, redisKilled, redisStopped, redisConnectionsCut, postgresKilled,
            postgresConnectionsCut,
        ]

    var victim: Victim {
        switch self {
        case .replicaKilled(let name), .replicaStopped(let name): .process(name)
        case .answerCut: .network
        case .redisFlushed, .redisKilled, .redisStopped, .redisConnectionsCut: .redis
        case .postgresKilled, .postgresConnectionsCut: .postgres
        }
    }

    /// How long what is stopped stays so: one time in three for longer than the race window of tokens.
    private static func stop(_ random: UInt64) -> Duration {
        random.isMultiple(of: 3) ? .milliseconds(6_000 + (random >> 32) % 2_001) : .seconds(3)
    }

    /// Returns when the victim is well again.
    func strike(_ system: GatehouseSystem, proxy: TCPProxy, random: UInt64) async throws {
        switch self {
        case .replicaKilled(let name):
            await system.process(name).kill()
            try await system.process(name).start()
        case .replicaStopped(let name):
            await system.process(name).suspend()
            defer { system.process(name).resume() }
            try await Task.sleep(for: Self.stop(random))
        case .answerCut:
            proxy.cut(afterBytesFromServer: Int(random % 4_000))
        case .redisFlushed:
            try await onRedis(system, "FLUSHALL")
        case .redisKilled:
            await system.redis.kill()
            try await system.redis.restart()
        case .redisStopped:
            await system.redis.freeze()
            let pause = await Task { try await Task.sleep(for: Self.stop(random)) }.result
            await system.redis.thaw()
            try pause.get()
        case .redisConnectionsCut:
            try await onRedis(system, "CLIENT", "KILL", "TYPE", "normal")
        case .postgresKilled:
            await system.postgres.kill()
            try await system.postgres.restart()
        case .postgresConnectionsCut:
            let connection = try await PostgresConnection.patient(system.postgres.url())
            try await connection.query(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'tokens'")
            await connection.close()
        }
    }

    private func onRedis(_ system: GatehouseSystem, _ command: RedisArgument...) async throws {
        try await withRedisClient(.patient(system.redis.url)) { client in
            _ = try await client.send(command)
        }
    }
}

extension Fault: CustomStringConvertible {
    var description: String {
        switch self {
        case .replicaKilled(let name): "\(name) killed"
        case .replicaStopped(let name): "\(name) stopped"
        case .answerCut: "answer cut"
        case .redisFlushed: "Redis flushed"
        case .redisKilled: "Redis killed"
        case .redisStopped: "Redis stopped"
        case .redisConnectionsCut: "connections to Redis cut"
        case .postgresKilled: "PostgreSQL killed"
        case .postgresConnectionsCut: "connections to PostgreSQL cut"
        }
    }
}
