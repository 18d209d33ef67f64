import Foundation
import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What the library adds to an app's request whose bearer is at hand: the same GET through it, through its transport
/// alone, and by a bare `URLSession`, as CPU time of this process. The server is another one.
struct ClientBenchmark {
    private static let rounds = 5

    let gateway: URL
    let schedule: Schedule

    func run() async throws {
        Table.header("An app's authorised GET, CPU of the app's process")
        let transport = URLSessionTransport()
        let client = try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: gateway, store: InMemoryTokenStore(), transport: transport))
        try await client.register(identifier: GatewayClient.newIdentifier(), password: GatewayClient.password)
        let request = URLRequest(url: gateway.appendingPathComponent("livez"))
        // Each request gets its bearer, with or without the library: on Linux that alone is a third of the
        // instructions.
        let bearer = "Bearer \(try await client.session.accessToken().value.value)"
        let authorised: @Sendable () -> URLRequest = {
            var authorised = request
            authorised.setValue(bearer, forHTTPHeaderField: "Authorization")
            return authorised
        }
        let session = URLSession(configuration: Self.configuration)

        let ways: [(name: String, get: @Sendable () async throws -> URLResponse)] = [
            ("a bare URLSession", { try await session.data(for: authorised()).1 }),
            ("the library's transport", { try await transport.send(authorised()).1 }),
            ("the library: client.data(for:)", { try await client.data(for: request).1 }),
        ]
        var measurements = ways.map { _ in [Measurement]() }
        // In turn, so that whatever else the machine does meets all of them.
        for _ in 0..<Self.rounds {
            for (index, way) in ways.enumerated() {
                measurements[index].append(try await measured(way.name, way.get))
            }
        }
        let medians = measurements.map { $0.sorted { $0.microsecondsInAll < $1.microsecondsInAll }[Self.rounds / 2] }
        for median in medians { Table.line(median) }
        let library = medians[2].microsecondsInAll
        Table.note(
            "Medians of \(Self.rounds) rounds. The library costs "
                + "\(Table.ratio(library / medians[0].microsecondsInAll)) times the bare URLSession (at most 1.10 is wanted), "
                + "\(Table.ratio(library / medians[1].microsecondsInAll)) times its transport.")
        session.invalidateAndCancel()
    }

    private func measured(
        _ name: String, _ get: @escaping @Sendable () async throws -> URLResponse
    ) async throws -> Measurement {
        let share = Schedule(warmUp: schedule.warmUp / Self.rounds, measured: schedule.measured / Self.rounds)
        return try await measure(name, workers: [0], watching: [.this], schedule: share) { _ in
            guard let response = try await get() as? HTTPURLResponse, response.statusCode == 200 else {
                throw BenchmarkError("\(name): the gateway does not answer 200")
            }
        }
    }

    /// As the library's transport has it.
    private static var configuration: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.urlCredentialStorage = nil
        return configuration
    }
}
