#if canImport(SwiftUI)
    import GatehouseClient
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
#endif
