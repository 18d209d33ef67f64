import GatehouseUI
import SwiftUI

/// What somebody who is signed in sees.
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
