import GatehouseUI
import SwiftUI

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
