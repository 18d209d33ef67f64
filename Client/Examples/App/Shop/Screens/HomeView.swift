import GatehouseUI
import SwiftUI

/// The app's content for a signed-in user.
struct HomeView: View {
    @EnvironmentObject private var session: AppSession
    let push: PushHelper

    var body: some View {
        TabView {
            OrdersView()
                .tabItem { Label("Orders", systemImage: "bag") }
            NavigationStack { SessionsView(client: session.client) }
                .tabItem { Label("Devices", systemImage: "iphone") }
            AccountView(session: session) { NotificationsSection(push: push) }
                .tabItem { Label("Account", systemImage: "person") }
        }
        .accessibilityIdentifier("shop.home")
    }
}
