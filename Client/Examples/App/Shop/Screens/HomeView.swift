import GatehouseUI
import SwiftUI

/// The app's content for a signed-in user.
struct HomeView: View {
    let push: PushHelper

    var body: some View {
        TabView {
            OrdersView()
                .tabItem { Label("Orders", systemImage: "bag") }
            SessionsView()
                .tabItem { Label("Devices", systemImage: "iphone") }
            AccountView(push: push)
                .tabItem { Label("Account", systemImage: "person") }
        }
        .accessibilityIdentifier("shop.home")
    }
}
