import Foundation
import GatehouseClient
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A real transport whose requests a test counts, and into which it puts faults.
final class WatchedTransport: Transport {
    /// What happens between the server's answer and the client.
    typealias Interception = @Sendable (URLRequest) throws -> Void

    private struct State {
        var counts: [String: Int] = [:]
        var beforeAnswers: [String: Interception] = [:]
    }

    private let real: any Transport
    private let state = Mutex(State())

    init(_ real: any Transport = URLSessionTransport()) { self.real = real }

    /// How many requests went to this path.
    func count(_ path: String) -> Int { state.withLock { $0.counts[path] ?? 0 } }

    /// Runs `interception` when an answer of this path has come, before the client sees it; what it throws is what the
    /// client sees instead.
    func beforeAnswer(of path: String, _ interception: Interception?) {
        state.withLock { $0.beforeAnswers[path] = interception }
    }

    func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        let path = request.url?.path ?? ""
        state.withLock { $0.counts[path, default: 0] += 1 }
        let answer = try await real.send(request)
        try state.withLock { $0.beforeAnswers[path] }?(request)
        return answer
    }
}
