#if canImport(SwiftUI)
    import Combine
    import Foundation
    import GatehouseClient
    public import SwiftUI

    extension View {
        /// Shows a sheet when a call requires recent authentication, and repeats the call when the user has
        /// authenticated.
        ///
        /// The gate and ``AccountView`` have the sheet. Add it to the content of your own sheets and full-screen covers
        /// that make such calls, because the sheet of a view behind them is not shown.
        @MainActor
        public func reauthentication(_ session: AppSession) -> some View {
            modifier(ReauthenticationSheet(prompt: session.prompt, client: session.client))
        }
    }

    private struct ReauthenticationSheet: ViewModifier {
        @ObservedObject var prompt: ReauthenticationPrompt
        let client: GatehouseClient
        @State private var presenter = UUID()

        func body(content: Content) -> some View {
            content
                .sheet(item: request) { request in
                    ReauthenticationView(client: client, user: request.user, done: prompt.succeeded)
                        .onDisappear { prompt.closed(request) }
                }
                .onAppear { prompt.appeared(presenter, for: client) }
                .onDisappear { prompt.disappeared(presenter) }
        }

        /// The prompt's request, if this view shows it.
        private var request: Binding<ReauthenticationPrompt.Request?> {
            let shown = prompt.request?.presenter == presenter ? prompt.request : nil
            return Binding(get: { shown }, set: { if $0 == nil, let shown { prompt.closed(shown) } })
        }
    }

    /// Requests the sheet in which the user authenticates. The sheet of the view that appeared last is shown.
    @MainActor
    final class ReauthenticationPrompt: ObservableObject {
        struct Request: Identifiable, Equatable {
            let id: Int
            let user: GatehouseClient.User
            /// The view that shows the sheet.
            let presenter: UUID
        }

        /// The sheet is shown while this is not `nil`.
        @Published private(set) var request: Request?
        /// The views on the screen that can show the sheet, in the order of their appearance.
        private var presenters: [UUID] = []
        private var calls = 0
        /// The calls that wait. One authentication serves them all.
        private(set) var waiting: [Int: CheckedContinuation<Void, any Error>] = [:]

        /// Answers the client's requests from now on, unless the app has a handler of its own.
        func appeared(_ presenter: UUID, for client: GatehouseClient) {
            disappeared(presenter)
            presenters.append(presenter)
            client.setDefaultReauthenticationHandler { [self] _, user in try await authenticate(user) }
        }

        func disappeared(_ presenter: UUID) { presenters.removeAll { $0 == presenter } }

        /// Shows the sheet, and returns when the user has authenticated.
        ///
        /// - Throws: `CancellationError` if the user closed the sheet, `reauthenticationRequired` if no view can show
        ///   it or the user has no credential for it.
        func authenticate(_ user: GatehouseClient.User) async throws {
            guard let presenter = presenters.last, !ReauthenticationMethod.all(of: user).isEmpty else {
                throw GatehouseError(.reauthenticationRequired)
            }
            calls += 1
            let call = calls
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    waiting[call] = continuation
                    if request == nil { request = Request(id: call, user: user, presenter: presenter) }
                }
            } onCancel: {
                Task { @MainActor in cancelled(call) }
            }
        }

        /// The user has authenticated in the sheet.
        func succeeded() { end(.success(())) }

        /// The sheet has disappeared. It may be one that has succeeded before.
        func closed(_ closed: Request) {
            if closed.id == request?.id { end(.failure(CancellationError())) }
        }

        /// Closes the sheet of a user who is no longer signed in.
        func sessionChanged(to user: UUID?) {
            if let request, request.user.id != user { end(.failure(CancellationError())) }
        }

        private func cancelled(_ call: Int) {
            waiting.removeValue(forKey: call)?.resume(throwing: CancellationError())
            if waiting.isEmpty { request = nil }
        }

        private func end(_ result: Result<Void, any Error>) {
            let continuations = waiting.values
            (request, waiting) = (nil, [:])
            for continuation in continuations { continuation.resume(with: result) }
        }
    }
#endif
