import Foundation
import GatehouseClient
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Holds requests to one path, or their answers, until they are cancelled or a test releases them.
final class HeldTransport: GatehouseTransport {
    enum Held: Sendable {
        case requests
        /// The server acts on a request, and its answer does not arrive.
        case answers
    }

    private struct State {
        var left: Int
        var attempts = 0
        var held: [AsyncStream<Void>.Continuation] = []
    }

    private let transport: any GatehouseTransport
    private let path: String
    private let kind: Held
    private let state: Mutex<State>
    private let arrivals: AsyncStream<Void>
    private let arrival: AsyncStream<Void>.Continuation

    /// - Parameter count: how many are held; later ones pass.
    init(_ transport: any GatehouseTransport, _ kind: Held, to path: String, count: Int = .max) {
        self.transport = transport
        self.path = path
        self.kind = kind
        state = Mutex(State(left: count))
        (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
    }

    /// How often the path was requested.
    var attempts: Int { state.withLock { $0.attempts } }

    func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        guard request.url?.path == path else { return try await transport.send(request) }
        let isHeld = state.withLock { state in
            state.attempts += 1
            state.left -= 1
            return state.left >= 0
        }
        if case .requests = kind { try await pass(isHeld) }
        let answer = try await transport.send(request)
        if case .answers = kind { try await pass(isHeld) }
        return answer
    }

    private func pass(_ isHeld: Bool) async throws {
        guard isHeld else { return }
        let (release, continuation) = AsyncStream.makeStream(of: Void.self)
        state.withLock { $0.held.append(continuation) }
        arrival.yield()
        for await _ in release {}
        try Task.checkCancellation()
    }

    /// Returns when one more is held.
    func untilHeld() async { for await _ in arrivals { return } }

    func release() { for continuation in state.withLock({ $0.held }) { continuation.finish() } }
}
