import Foundation
import GatehouseService
import OrdersService

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The service itself, on free ports, while a test runs.
struct RunningOrders: Sendable {
    static let credentials = ["dev-gateway-1", "dev-gateway-2"]

    struct Answer: Sendable {
        var status: Int
        var type: String?
        var body: Data
    }

    private let port: Int

    static func run(_ body: @Sendable (RunningOrders) async throws -> Void) async throws {
        let configuration = try ServiceConfiguration<OrdersApplication>.load(environment: [
            "GATEHOUSE_ENVIRONMENT": "development", "ORDERS_GATEWAY_CREDENTIALS": credentials.joined(separator: ","),
            "ORDERS_LISTEN_ADDRESS": "127.0.0.1:0", "ORDERS_ADMIN_LISTEN_ADDRESS": "127.0.0.1:0",
        ])
        let process = ServiceProcess(configuration, logger: Logger(label: "orders") { _ in SwiftLogNoOpLogHandler() })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await process.run() }
            let running = RunningOrders(port: try await process.listening.port())
            do {
                try await body(running)
            } catch {
                process.stop()
                throw error
            }
            process.stop()
            try await group.waitForAll()
        }
    }

    func get(_ path: String, _ fields: [String: String]) async throws -> Answer {
        var request = URLRequest(url: URL(string: "http://127.0.0.1:\(port)\(path)")!)
        for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
        let (body, response) = try await URLSession.shared.data(for: request)
        guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        return Answer(
            status: response.statusCode, type: response.value(forHTTPHeaderField: "Content-Type"), body: body)
    }
}
