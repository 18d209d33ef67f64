import GatehouseClient
import GatehouseUI
import SwiftUI

/// The response of the example service (`deploy/examples/orders`).
struct Orders: Decodable, Sendable {
    struct Order: Decodable, Sendable, Identifiable {
        var id: Int
    }

    var items: [Order]
    var role: String?
}

/// Calls the team's own service behind the gateway.
struct OrdersView: View {
    @EnvironmentObject private var session: AppSession
    @State private var orders: Orders?
    @State private var error: GatehouseError?

    var body: some View {
        NavigationStack {
            List {
                if let error {
                    Text(verbatim: error.message())
                        .accessibilityIdentifier("shop.orders.error")
                }
                if let orders {
                    ForEach(orders.items) { order in
                        Text(verbatim: "Order \(order.id)")
                            .accessibilityIdentifier("shop.order")
                    }
                } else if error == nil {
                    ProgressView()
                }
            }
            .navigationTitle("Orders")
            .task { await load() }
            .refreshable { await load() }
        }
    }

    private func load() async {
        do throws(GatehouseError) {
            orders = try await session.client.get("/v1/orders")
            error = nil
        } catch {
            // The view has disappeared, or the user has cancelled the refresh gesture.
            if error.kind != .cancelled { self.error = error }
        }
    }
}
