#if canImport(SwiftUI)
    public import Combine
    import Foundation
    public import GatehouseClient
    public import SwiftUI

    extension View {
        /// Shows this view to who is signed in, and the screen to sign in or to unlock to everybody else.
        ///
        /// Views below find the session as an environment object. A view that belongs to one user is made anew for the
        /// next.
        @MainActor
        public func gatehouse(_ session: AppSession, options: LoginView.Options = .init()) -> some View {
            Gate(session: session, options: options, content: self)
        }
    }

    private struct Gate<Content: View>: View {
        @ObservedObject var session: AppSession
        let options: LoginView.Options
        let content: Content
        @Environment(\.scenePhase) private var scenePhase

        var body: some View {
            Group {
                switch session.state {
                case .launching: LaunchView(session: session)
                case .signedOut(let reason):
                    LoginView(client: session.client, options: options, after: reason)
                        // Signed in and out again before anybody looked: another screen, which says why.
                        .id(reason)
                case .needsUnlock: UnlockView(session: session, options: options)
                case .signedIn(let user): content.environmentObject(session).id(user.id)
                }
            }
            // Each time the app comes to the foreground: by then the device has been unlocked.
            .task(id: scenePhase) {
                if scenePhase == .active { await session.start() }
            }
        }
    }

    /// While what is stored is read, and where it could not be.
    struct LaunchView: View {
        @ObservedObject var session: AppSession
        @Environment(\.locale) private var locale

        var body: some View {
            let texts = Texts(locale)
            VStack(spacing: 20) {
                if let error = session.launchError {
                    Text(verbatim: texts[.launchFailed])
                        .accessibilityAddTraits(.isHeader)
                    Text(verbatim: error.message(in: texts.language))
                        .multilineTextAlignment(.center)
                        .accessibilityIdentifier("gatehouse.launch.error")
                    Button(texts[.tryAgain]) { Task { await session.start() } }
                        .accessibilityIdentifier("gatehouse.launch.tryAgain")
                } else {
                    ProgressView()
                        .accessibilityLabel(Text(verbatim: texts[.launching]))
                        .accessibilityIdentifier("gatehouse.launch.progress")
                }
            }
            .padding()
            .frame(maxWidth: .infinity, maxHeight: .infinity)
            .environment(\.layoutDirection, texts.direction)
        }
    }

    /// A session as an app's screens see it. Make one when the app starts, and gate the app with it:
    ///
    /// ```swift
    /// @main struct Shop: App {
    ///     @StateObject private var session = AppSession(client: client)
    ///     var body: some Scene { WindowGroup { ShopView().gatehouse(session) } }
    /// }
    /// ```
    @MainActor
    public final class AppSession: ObservableObject {
        /// Which of the screens is to be shown.
        @Published public private(set) var state = AppState.launching
        /// Why what is stored could not be read, as long as the app is launching.
        @Published public private(set) var launchError: GatehouseError?
        public let client: GatehouseClient
        /// Why the system asks for no face and no finger now.
        let obstacle: @MainActor () -> UnlockObstacle?
        private var following: Task<Void, Never>?

        public convenience init(client: GatehouseClient) { self.init(client: client, obstacle: UnlockObstacle.now) }

        init(client: GatehouseClient, obstacle: @escaping @MainActor () -> UnlockObstacle?) {
            self.client = client
            self.obstacle = obstacle
        }

        deinit { following?.cancel() }

        /// Reads what is stored, where that has not been done or was not possible. The gate calls it whenever the app
        /// comes to the foreground.
        public func start() async {
            follow()
            do {
                try await client.session.start()
                launchError = nil
            } catch {
                // Locked is a state, and has a screen of its own.
                launchError = error.kind == .locked ? nil : error
            }
        }

        /// Shows the system's dialog for Face ID or Touch ID.
        ///
        /// - Parameter reason: what the dialog says, in the user's language.
        /// - Throws: `locked` where the user did not succeed, or did not want to.
        public func unlock(reason: String) async throws(GatehouseError) {
            follow()
            try await client.session.unlock(reason: reason)
        }

        private func follow() {
            guard following == nil else { return }
            following = Task { [weak self, changes = client.session.changes()] in
                for await change in changes {
                    guard let self else { return }
                    state = AppState(change)
                }
            }
        }
    }
#endif
