#if DEBUG && canImport(SwiftUI)
    import Foundation
    public import GatehouseClient

    extension AppSession {
        /// A session without a server, for demo builds. It accepts every password and keeps data only in the process.
        /// It exists only in debug builds.
        ///
        /// - Parameter isSignedIn: whether the app starts signed in as the demo user, or at the sign-in screen.
        public static func demo(user: GatehouseClient.User = .demo, isSignedIn: Bool = true)
            async throws(GatehouseError) -> AppSession
        {
            let configuration = GatehouseConfiguration(
                baseURL: URL(string: "https://demo.invalid")!, store: InMemoryTokenStore(),
                transport: DemoTransport(user: user))
            let client = try GatehouseClient(configuration: configuration)
            if isSignedIn { try await client.signIn(identifier: "demo@example.com", password: "demo") }
            return AppSession(client)
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
