import GatehouseClient
import GatehouseUI
import SwiftUI

/// The signed-in user, notifications, sign-out, and deletion of the account.
struct AccountView: View {
    @EnvironmentObject private var session: AppSession
    let push: PushHelper
    @State private var user: User?
    @State private var notifies: Bool?
    @State private var asksToDelete = false
    @State private var error: GatehouseError?

    var body: some View {
        NavigationStack {
            List {
                if let error {
                    Text(verbatim: error.message())
                        .accessibilityIdentifier("shop.account.error")
                }
                Section {
                    Text(verbatim: user?.displayName ?? user?.email ?? user?.phone ?? "")
                        .accessibilityIdentifier("shop.account.name")
                }
                Section {
                    Button("Notify me of new orders") { Task { await askForNotifications() } }
                        .disabled(notifies != nil)
                    if notifies == false { Text("Switch notifications on in Settings.") }
                }
                Section {
                    Button("Sign out") { Task { await report { try await $0.signOut() } } }
                        .accessibilityIdentifier("shop.account.signOut")
                    Button("Sign out everywhere") { Task { await report { try await $0.signOutEverywhere() } } }
                    Button("Delete account", role: .destructive) { asksToDelete = true }
                        .accessibilityIdentifier("shop.account.delete")
                }
            }
            .navigationTitle("Account")
            .task { user = await session.client.session.state.user }
            .confirmationDialog("Delete the account?", isPresented: $asksToDelete, titleVisibility: .visible) {
                Button("Delete for ever", role: .destructive) {
                    // A user who signed in some minutes ago authenticates first, in the gate's alert.
                    Task { await report { try await $0.deleteAccount() } }
                }
                .accessibilityIdentifier("shop.account.deleteForEver")
            }
        }
    }

    private func askForNotifications() async {
        // An error means that the system could not show the dialog. The user may retry.
        notifies = try? await push.requestPermission()
    }

    private func report(_ work: (GatehouseClient) async throws -> Void) async {
        do {
            try await work(session.client)
            error = nil
        } catch let failure as GatehouseError where failure.kind != .cancelled {
            error = failure
        } catch {
            // Show nothing: the view has disappeared.
        }
    }
}
