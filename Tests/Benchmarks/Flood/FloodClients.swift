import AsyncHTTPClient
import Foundation
import GatehouseServiceContracts
import NIOCore
import NIOHTTP1
import NIOPosix

/// Clients that try wrong passwords, each the next as soon as the last is answered. They take no notice of
/// `Retry-After`.
struct FloodClients: Sendable {
    static let count = 120

    let origin: String

    /// Prints how often each status came.
    func run(for duration: Duration) async throws {
        var configuration = HTTPClient.Configuration.singletonConfiguration
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = Self.count
        let http = HTTPClient(eventLoopGroup: .singletonMultiThreadedEventLoopGroup, configuration: configuration)
        let end = ContinuousClock.now + duration
        let counts = await withTaskGroup(of: [Int: Int].self) { group in
            for _ in 0..<Self.count {
                group.addTask {
                    var counts: [Int: Int] = [:]
                    while ContinuousClock.now < end { counts[await status(http), default: 0] += 1 }
                    return counts
                }
            }
            return await group.reduce(into: [Int: Int]()) { $0.merge($1, uniquingKeysWith: +) }
        }
        try await http.shutdown()
        print(counts.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", "))
    }

    /// - Returns: 0 where no answer came.
    private func status(_ http: HTTPClient) async -> Int {
        var request = HTTPClientRequest(url: origin + "/v1/auth/login")
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        let body = LoginRequest(identifier: GatewayClient.newIdentifier(), password: "not the right password")
        do {
            request.body = .bytes(ByteBuffer(bytes: try JSON.encode(body)))
            let response = try await http.execute(request, timeout: .seconds(30))
            _ = try await response.body.collect(upTo: 1 << 20)
            return Int(response.status.code)
        } catch {
            return 0
        }
    }
}
