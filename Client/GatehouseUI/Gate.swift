#if canImport(SwiftUI)
    import Combine
    import Foundation
    public import GatehouseClient
    public import SwiftUI

    extension View {
        /// Shows this view while a user is signed in. Otherwise shows the sign-in screen or the unlock screen.
        ///
        /// Views below get the session from the environment: with `@Environment(AppSession.self)`, or below iOS 17 and
        /// macOS 14 with `@EnvironmentObject`. Another user gets a new view, without the previous user's state. While
        /// the session is locked, the view keeps its state below the unlock screen, which is in a window above sheets.
        /// On a Mac it is above the view, and sheets stay visible.
        @MainActor
        public func gatehouse(_ session: AppSession, options: LoginView.Options = .init()) -> some View {
            gatehouse(
                session, signIn: { LoginView(client: $0.client, options: options, after: $1) })
        }

        /// Shows this view while a user is signed in, and otherwise the app's own screens.
        ///
        /// ```swift
        /// ShopView().gatehouse(session) { session, reason in
        ///     SignInScreen(client: session.client, reason: reason)
        /// } unlock: { model in
        ///     UnlockScreen(model: model)
        /// } launch: { session in
        ///     SplashScreen(session: session)
        /// }
        /// ```
        ///
        /// - Parameters:
        ///   - session: the app's session.
        ///   - signIn: the screen of a signed-out user, and why the last session ended; `nil` if no user was signed in.
        ///     It calls the client, and disappears when the user is signed in. It is also shown if the user chooses to
        ///     sign in instead of unlocking.
        ///   - unlock: the screen of a locked session.
        ///   - launch: the screen while the stored session is read. It shows ``AppSession/launchError``, and calls
        ///     ``AppSession/start()`` to try again.
        @MainActor
        public func gatehouse<SignIn: View, Unlock: View, Launch: View>(
            _ session: AppSession,
            @ViewBuilder signIn: @escaping @MainActor (AppSession, SignOutReason?) -> SignIn,
            @ViewBuilder unlock: @escaping @MainActor (UnlockModel) -> Unlock = { UnlockView(model: $0) },
            @ViewBuilder launch: @escaping @MainActor (AppSession) -> Launch = { LaunchView(session: $0) }
        ) -> some View {
            Gate(
                session: session, content: self,
                screens: GateScreens(signIn: signIn, unlock: unlock, launch: launch))
        }
    }

    /// The screens of the gate.
    struct GateScreens<SignIn: View, Unlock: View, Launch: View> {
        let signIn: @MainActor (AppSession, SignOutReason?) -> SignIn
        let unlock: @MainActor (UnlockModel) -> Unlock
        let launch: @MainActor (AppSession) -> Launch
    }

    private struct Gate<Content: View, SignIn: View, Unlock: View, Launch: View>: View {
        @ObservedObject var session: AppSession
        let content: Content
        let screens: GateScreens<SignIn, Unlock, Launch>

        var body: some View {
            ZStack {
                if let user = session.currentUser {
                    content
                        .reauthentication(session)
                        .modifier(MergeOfferSheet(session: session))
                        .modifier(MissingLockAlert(session: session))
                        .id(user.id)
                        .accessibilityHidden(session.overlay != nil)
                        // A hardware keyboard's shortcuts too.
                        .disabled(session.overlay?.takesInput == true)
                } else {
                    switch session.state {
                    case .launching, .signedIn: screens.launch(session)
                    case .signedOut(let reason):
                        screens.signIn(session, reason)
                            // A sign-in and sign-out in quick succession must show a new screen with the new reason.
                            .id(reason)
                    case .needsUnlock: LockedScreen(session: session, screens: screens)
                    }
                }
            }
            .modifier(
                OverlayPresentation(session: session) { OverlayScreen(session: session, screens: screens) }
            )
            .environment(session: session)
            .task { await session.start() }
        }
    }

    /// The screen that hides the content of a signed-in user.
    enum Overlay: Equatable {
        /// Hides a protected session in the app switcher, and until it is locked.
        case cover
        case unlock
        /// While the stored session is read again.
        case launch

        var takesInput: Bool { self != .cover }
    }

    /// The screen above the content.
    private struct OverlayScreen<SignIn: View, Unlock: View, Launch: View>: View {
        @ObservedObject var session: AppSession
        let screens: GateScreens<SignIn, Unlock, Launch>

        var body: some View {
            ZStack {
                Rectangle()
                    .fill(.background)
                    .ignoresSafeArea()
                switch session.overlay {
                case .unlock: LockedScreen(session: session, screens: screens)
                case .launch: screens.launch(session)
                case .cover, nil: Cover()
                }
            }
            .environment(session: session)
        }
    }

    private struct Cover: View {
        @Environment(\.locale) private var locale

        var body: some View {
            Image(systemName: "lock.fill")
                .font(.largeTitle)
                .frame(maxWidth: .infinity, maxHeight: .infinity)
                .accessibilityHidden(true)
                .accessibilityIdentifier("gatehouse.cover")
                .styledScreen(Texts(locale))
        }
    }

    /// Tells the user after a sign-in that this device cannot lock the session, although the app or the user demands
    /// it.
    private struct MissingLockAlert: ViewModifier {
        @ObservedObject var session: AppSession
        @Environment(\.locale) private var locale

        func body(content: Content) -> some View {
            let texts = Texts(locale)
            content.alert(texts[.lockMissingTitle], isPresented: $session.lacksLock) {
                Button(texts[.ok], role: .cancel) {}
                    .accessibilityIdentifier("gatehouse.lock.missing.dismiss")
            } message: {
                Text(verbatim: texts[session.unlockPolicy.lockMissing])
            }
        }
    }

    extension View {
        @ViewBuilder
        fileprivate func environment(session: AppSession) -> some View {
            if #available(iOS 17, macOS 14, tvOS 17, watchOS 10, *) {
                environment(session).environmentObject(session)
            } else {
                environmentObject(session)
            }
        }
    }
#endif
