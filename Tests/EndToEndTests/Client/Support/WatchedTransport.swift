import Foundation
import GatehouseClient
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A real transport whose requests a test counts.
final class WatchedTransport: GatehouseTransport {
    private let real: any GatehouseTransport
    private let counts = Mutex<[String: Int]>([:])

    init(_ real: any GatehouseTransport = URLSessionTransport()) { self.real = real }

    /// How many requests went to this path.
    func count(_ path: String) -> Int { counts.withLock { $0[path] ?? 0 } }

    func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        counts.withLock { $0[request.url?.path ?? "", default: 0] += 1 }
        return try await real.send(request)
    }
}
