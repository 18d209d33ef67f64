import Foundation

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// An app with this package's client.
struct GatehouseApp: SimulatedApp {
    private let client: GatehouseClient
    private let storage: DeviceStorage

    /// - Parameters:
    ///   - checksAtLaunch: as the client's configuration has it.
    ///   - transport: in place of the device's network.
    init(
        _ device: SimulatedDevice, _ process: SimulatedProcess, checksAtLaunch: Bool = true,
        transport: (any Transport)? = nil
    ) throws {
        storage = device.storage
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

    var isStored: Bool {
        storage.data.flatMap { try? StoredState(data: $0) }?.session != nil
    }
}
