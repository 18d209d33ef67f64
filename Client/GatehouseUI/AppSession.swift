#if canImport(SwiftUI)
    public import Combine
    public import GatehouseClient

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
