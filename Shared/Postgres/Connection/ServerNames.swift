import GatehouseThreads
import Synchronization

/// Resolves the names of servers. The last known addresses are used while the name server is unavailable.
final class ServerNames: Sendable {
    private typealias Answer = Result<[String], PostgresError>

    static let shared = ServerNames(resolver: .shared)

    private let resolver: NameResolver
    private let known = Mutex<[String: [String]]>([:])

    init(resolver: NameResolver) {
        self.resolver = resolver
    }

    /// The servers with addresses in place of names. Names that cannot be resolved are omitted, unless no server would
    /// be left.
    ///
    /// - Throws: ``PostgresError`` with code `connectionFailed`, `timedOut` or `cancelled`.
    func resolve(
        _ servers: [ServerAddress], until deadline: ContinuousClock.Instant
    ) async throws(PostgresError) -> [ServerAddress] {
        // Half of the time remains for connecting.
        let now = ContinuousClock.now
        let lookupDeadline = now + (deadline - now) / 2
        let names = Set(servers.compactMap(\.unresolvedName))
        let answers = await withTaskGroup(of: (String, Answer).self) { group in
            for name in names {
                group.addTask { (name, await self.answer(of: name, until: lookupDeadline)) }
            }
            return await group.reduce(into: [String: Answer]()) { $0[$1.0] = $1.1 }
        }
        var resolved: [ServerAddress] = []
        var failures: [PostgresError] = []
        for server in servers {
            guard let name = server.unresolvedName, let answer = answers[name] else {
                resolved.append(server)
                continue
            }
            switch answer {
            case .success(let addresses):
                resolved += addresses.map { ServerAddress(host: name, hostaddr: $0, port: server.port) }
            case .failure(let error): failures.append(error)
            }
        }
        if resolved.isEmpty { throw PostgresError(connecting: failures) }
        return resolved
    }

    /// A function instead of `do throws` in the task's closure: there, a release build by Swift 6.3.1 corrupts the pair
    /// of name and result, and the process crashes.
    private func answer(of name: String, until deadline: ContinuousClock.Instant) async -> Answer {
        do throws(NameResolverError) {
            let addresses = try await resolver.addresses(of: name, until: deadline)
            known.withLock { $0[name] = addresses }
            return .success(addresses)
        } catch {
            if error.code != .cancelled, let addresses = known.withLock({ $0[name] }) { return .success(addresses) }
            return .failure(PostgresError(error))
        }
    }
}

extension PostgresError {
    init(_ error: NameResolverError) {
        let code: Code =
            switch error.code {
            case .timedOut: .timedOut
            case .cancelled: .cancelled
            default: .connectionFailed
            }
        self.init(
            code, error.description,
            reason: [.notFound, .timedOut].contains(error.code) ? .unknownHost : nil, underlying: error.underlying)
    }
}
