import Foundation
import GatehouseClient
import GatehouseUI
import SwiftUI

// The code of the article "Getting started".

let client = GatehouseClient.live(baseURL: URL(string: "http://127.0.0.1:8080")!)

struct Shop: App {
    @State private var session = AppSession(client)

    var body: some Scene {
        WindowGroup { OrdersView().gatehouse(session) }
    }
}

nonisolated struct Order: Decodable, Sendable {
    var id: Int
    var placedAt: Date
}

nonisolated struct NewOrder: Encodable, Sendable {
    var item: String
}

extension GatehouseEndpoint<[Order]> {
    static func orders(of year: Int) -> Self {
        GatehouseEndpoint("GET", "/v1/orders", query: [URLQueryItem(name: "year", value: "\(year)")])
    }
}

func callService() async throws(GatehouseError) -> [Order] {
    let order: Order = try await client.get("/v1/orders/7")
    let placed: Order = try await client.post("/v1/orders", json: NewOrder(item: "tea"))
    try await client.delete("/v1/orders/7")

    let orders = try await client.send(.orders(of: 2026))
    return orders + [order, placed]
}

func callFileService(_ url: URL) -> GatehouseClient {
    GatehouseClient.live(baseURL: url) { $0.bearerHosts = ["files.example.com"] }
}

struct OrdersView: View {
    @Environment(AppSession.self) private var session  // iOS 17, macOS 14
    @State private var error: GatehouseError?

    var body: some View {
        Button("Sign Out") {
            Task {
                do throws(GatehouseError) { try await session.client.signOut() } catch { self.error = error }
            }
        }
    }
}

struct EarlierOrdersView: View {
    @EnvironmentObject private var session: AppSession  // earlier systems

    var body: some View { Text(session.isAuthenticated ? "Orders" : "") }
}
