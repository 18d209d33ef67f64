import Foundation
import GatehouseClient
import GatehouseUI
import SwiftUI

/// The user's sessions on all devices. A swipe ends a session.
struct SessionsView: View {
    @EnvironmentObject private var session: AppSession
    @State private var sessions: [SessionInfo] = []
    @State private var error: GatehouseError?

    var body: some View {
        NavigationStack {
            List {
                if let error {
                    Text(verbatim: error.message())
                        .accessibilityIdentifier("shop.sessions.error")
                }
                ForEach(sessions, id: \.id) { info in
                    VStack(alignment: .leading) {
                        Text(verbatim: info.device?.name ?? info.device?.model ?? "?")
                        Text(info.current ? "This device" : "Other device")
                            .font(.footnote)
                            .foregroundStyle(.secondary)
                    }
                    .accessibilityIdentifier("shop.session")
                    .swipeActions {
                        Button("End", role: .destructive) { Task { await end(info) } }
                    }
                }
            }
            .navigationTitle("Devices")
            .task { await load() }
            .refreshable { await load() }
        }
    }

    private func load() async {
        await report { sessions = try await session.client.sessions() }
    }

    private func end(_ info: SessionInfo) async {
        await report {
            try await session.client.endSession(info)
            if !info.current { sessions = try await session.client.sessions() }
        }
    }

    private func report(_ work: () async throws -> Void) async {
        do {
            try await work()
            error = nil
        } catch let failure as GatehouseError where failure.kind != .cancelled {
            error = failure
        } catch {
            // Show nothing: the view has disappeared.
        }
    }
}
