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
            AccountView(session: session) {
                NotificationsSection(push: push)
                UnlockSection(session: session)
            }
            .tabItem { Label("Account", systemImage: "person") }
        }
        .accessibilityIdentifier("shop.home")
    }
}

/// The app's own part of the account screen.
struct NotificationsSection: View {
    let push: PushHelper
    @State private var notifies: Bool?

    var body: some View {
        Section {
            Button("Notify me of new orders") { Task { await askForNotifications() } }
                .disabled(notifies != nil)
            if notifies == false { Text("Switch notifications on in Settings.") }
        }
    }

    private func askForNotifications() async {
        // An error means that the system could not show the dialog. The user may retry.
        notifies = try? await push.requestPermission()
    }
}
