#if DEBUG && canImport(SwiftUI)
    import Foundation
    public import GatehouseClient

    extension AppSession {
        /// A session without a server, for previews and demo builds. It accepts every password and keeps data only in
        /// the process. It exists only in debug builds.
        ///
        /// ```swift
        /// #Preview { OrdersView().gatehouse(.demo()) }
        /// ```
        ///
        /// - Parameter isSignedIn: whether the app starts signed in as the demo user, or at the sign-in screen.
        public static func demo(user: GatehouseClient.User = .demo, isSignedIn: Bool = true) -> AppSession {
            let store = isSignedIn ? InMemoryTokenStore(signedIn: user) : InMemoryTokenStore()
            let configuration = GatehouseConfiguration(
                baseURL: URL(string: "https://demo.invalid")!, store: store, transport: DemoTransport(user: user))
            guard let client = try? GatehouseClient(configuration: configuration) else {
                preconditionFailure("the demo's configuration is valid")
            }
            return AppSession(client, user: isSignedIn ? user : nil)
        }
    }

    extension GatehouseClient.User {
        /// The user of a demo session.
        public static var demo: GatehouseClient.User {
            GatehouseClient.User(
                id: UUID(), email: "demo@example.com", displayName: "Demo", emailVerified: true, role: "customer",
                authProviders: [.password], createdAt: Date(timeIntervalSince1970: 1_767_225_600))
        }
    }
#endif
