#if GATEHOUSE_DEMO && canImport(SwiftUI)
    import Foundation
    public import GatehouseClient

    extension AppSession {
        /// A session without a server, which takes every password and forgets everything with the process: for builds
        /// that are shown around. Such a build takes the package with its trait `Demo`; no other holds any of it.
        ///
        /// - Parameter isSignedIn: whether the app begins with the demo user, or with the screen to sign in.
        public static func demo(user: User = .demo, isSignedIn: Bool = true) async throws(GatehouseError) -> AppSession
        {
            let configuration = GatehouseConfiguration(
                baseURL: URL(string: "https://demo.invalid")!, store: InMemoryTokenStore(),
                transport: DemoTransport(user: user))
            let client = try GatehouseClient(configuration: configuration)
            if isSignedIn { try await client.signIn(identifier: "demo@example.com", password: "demo") }
            return AppSession(client: client)
        }
    }

    extension User {
        /// Who a demo session is of.
        public static var demo: User {
            User(
                id: UUID(), email: "demo@example.com", displayName: "Demo", emailVerified: true, role: "customer",
                authProviders: [.password], createdAt: Date(timeIntervalSince1970: 1_767_225_600))
        }
    }
#endif
