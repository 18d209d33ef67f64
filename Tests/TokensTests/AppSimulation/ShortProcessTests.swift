import Foundation
import Synchronization
import TestKit
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A command that a timer starts, or an app's extension: a process for one request, which ends with its answer.
@Suite struct ShortProcessTests {
    private static let everyFiveMinutes = stride(from: 300, to: 24 * 3600, by: 300)

    @Test("One request every five minutes for a day: no user is signed out", arguments: 1...3 as ClosedRange<UInt64>)
    func settled(seed: UInt64) async throws {
        #expect(try await firstSignOut(seed: seed, settles: true) == nil)
    }

    /// Without this the other one would prove nothing.
    @Test("The same without waiting for what is under way: the server takes the fourth loss for theft")
    func unsettled() async throws {
        let seconds = try #require(try await firstSignOut(seed: 1, settles: false))
        #expect(seconds < 12 * 3600)
    }

    /// - Returns: after how many seconds the app was signed out.
    private func firstSignOut(seed: UInt64, settles: Bool) async throws -> Int? {
        var random = SeededGenerator(seed: seed)
        let device = SimulatedDevice(random: &random) { GatehouseChain() }
        try await signIn(device)
        for second in Self.everyFiveMinutes {
            device.clock.advance(to: second)
            let process = SimulatedProcess()
            let network = LateRefreshes(
                carrier: SimulatedTransport(network: device.network, process: process),
                isLate: device.renewsMeanwhile)
            let app = try GatehouseApp(device, process, checksAtLaunch: false, transport: network)
            _ = await app.request()
            if settles {
                network.letRefreshesCome()
                await app.settle()
            }
            let sight = await app.sight
            let isAlive = process.isAlive
            process.kill()
            network.letRefreshesCome()
            if isAlive, sight == .signedOut { return second }
        }
        return nil
    }

    private func signIn(_ device: SimulatedDevice) async throws {
        // An answer to a sign-in may be lost like any other, and its process killed.
        while true {
            let process = SimulatedProcess()
            let app = try GatehouseApp(device, process)
            await app.launch()
            if await app.sight != .signedIn { await app.signIn() }
            await app.settle()
            if process.isAlive, await app.sight == .signedIn { return }
        }
    }
}

extension SimulatedDevice {
    /// Whether the next request goes with a token that still serves, and a new one is fetched beside it.
    fileprivate var renewsMeanwhile: Bool {
        guard let data = storage.data, let stored = try? StoredState(data: data).session else { return false }
        let life = TokenLife(stored: stored, wall: clock.wall, monotonic: clock.monotonic)
        return life.isDue(at: clock.monotonic) && !life.isOver(at: clock.monotonic)
    }
}

/// A network on which new tokens, once the server has made them, come later than the answer to the request that went
/// out beside.
private final class LateRefreshes: GatehouseTransport {
    private struct State {
        var isLate: Bool
        var hasAsked = false
    }

    private let carrier: SimulatedTransport
    private let state: Mutex<State>

    init(carrier: SimulatedTransport, isLate: Bool) {
        self.carrier = carrier
        state = Mutex(State(isLate: isLate))
    }

    func letRefreshesCome() { state.withLock { $0.isLate = false } }

    func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        guard request.url?.path == "/v1/auth/refresh" else {
            while state.withLock({ $0.isLate && !$0.hasAsked }) { await Task.yield() }
            let (body, response) = try await carrier.send(request)
            // The token has expired on the way: now the request waits for the new one.
            if response.statusCode == 401 { letRefreshesCome() }
            return (body, response)
        }
        defer { state.withLock { $0.hasAsked = true } }
        let (body, response) = try await carrier.send(request)
        state.withLock { $0.hasAsked = true }
        while response.statusCode == 200, state.withLock({ $0.isLate }) { await Task.yield() }
        guard carrier.process.isAlive else { throw URLError(.cancelled) }
        return (body, response)
    }
}
