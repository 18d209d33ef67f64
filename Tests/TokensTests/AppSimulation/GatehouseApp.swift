import Foundation

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A process of an app with this package's client.
struct GatehouseApp: Sendable {
    private let client: GatehouseClient

    /// - Parameters:
    ///   - checksAtLaunch: as the client's configuration has it.
    ///   - transport: in place of the device's network.
    init(
        _ device: SimulatedDevice, _ process: SimulatedProcess, checksAtLaunch: Bool = true,
        transport: (any GatehouseTransport)? = nil
    ) throws {
        client = try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: SimulatedDevice.origin,
                store: SimulatedStore(storage: device.storage, process: process),
                transport: transport ?? SimulatedTransport(network: device.network, process: process),
                connectivity: device.network, clock: device.clock, checksAtLaunch: checksAtLaunch))
    }

    func launch() async {
        try? await client.session.start()
    }

    func signIn() async {
        _ = try? await client.signIn(identifier: "ada@example.com", password: "correct horse")
    }

    func signOut() async {
        try? await client.signOut()
    }

    func request() async -> RequestOutcome {
        do {
            let url = SimulatedDevice.origin.appendingPathComponent("/v1/orders")
            let (_, response) = try await client.data(for: URLRequest(url: url))
            return response.statusCode == 200 ? .served : response.statusCode == 401 ? .refused : .failed
        } catch {
            return .failed
        }
    }

    /// Returns when no request is in flight.
    func settle() async { await client.session.settle() }

    var sight: Sight {
        get async {
            switch await client.session.state {
            case .signedIn: .signedIn
            case .signedOut: .signedOut
            case .restoring, .locked: .neither
            }
        }
    }
}
