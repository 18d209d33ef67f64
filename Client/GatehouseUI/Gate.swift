#if canImport(SwiftUI)
    public import Combine
    import Foundation
    public import GatehouseClient
    public import Observation
    public import SwiftUI

    extension View {
        /// Shows this view while a user is signed in. Otherwise shows the sign-in screen or the unlock screen.
        ///
        /// Views below get the session from the environment: with `@Environment(AppSession.self)`, or below iOS 17 and
        /// macOS 14 with `@EnvironmentObject`. Another user gets a new view, without the previous user's state.
        @MainActor
        public func gatehouse(_ session: AppSession, options: LoginView.Options = .init()) -> some View {
            Gate(session: session, options: options, content: self)
        }
    }

    private struct Gate<Content: View>: View {
        @ObservedObject var session: AppSession
        let options: LoginView.Options
        let content: Content

        var body: some View {
            ZStack {
                switch session.state {
                case .launching: LaunchView(session: session)
                case .signedOut(let reason):
                    LoginView(client: session.client, options: options, after: reason)
                        // A sign-in and sign-out in quick succession must show a new screen with the new reason.
                        .id(reason)
                case .needsUnlock: UnlockView(session: session, options: options)
                case .signedIn(let user):
                    content
                        .reauthentication(session)
                        .modifier(MergeOfferSheet(session: session))
                        .environment(session: session)
                        .id(user.id)
                }
                if session.isCovered { Cover() }
            }
            .task { await session.start() }
        }
    }

    /// Hides a protected session in the app switcher. It does not cover sheets, which are above the gate.
    private struct Cover: View {
        var body: some View {
            ZStack {
                Rectangle()
                    .fill(.background)
                    .ignoresSafeArea()
                Image(systemName: "lock.fill")
                    .font(.largeTitle)
                    .accessibilityHidden(true)
            }
            .accessibilityIdentifier("gatehouse.cover")
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

    /// Shown while the session is read, and if reading failed.
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

    /// The observable session for an app's screens. Create one when the app starts, and gate the app with it:
    ///
    /// ```swift
    /// let client = GatehouseClient.live(baseURL: URL(string: "https://api.example.com")!)
    ///
    /// @main struct Shop: App {
    ///     @State private var session = AppSession(client)
    ///     var body: some Scene { WindowGroup { ShopView().gatehouse(session) } }
    /// }
    /// ```
    ///
    /// It is `Observable`, and an `ObservableObject` for views on systems below iOS 17 and macOS 14.
    @MainActor
    public final class AppSession: ObservableObject {
        /// The screen to show.
        public private(set) var state: AppState {
            get { observed(\.state, publishedState) }
            set { change(\.state) { publishedState = newValue } }
        }
        /// Why the session could not be read, while the app is launching.
        public private(set) var launchError: GatehouseError? {
            get { observed(\.launchError, publishedError) }
            set { change(\.launchError) { publishedError = newValue } }
        }
        @Published private var publishedState = AppState.launching
        @Published private var publishedError: GatehouseError?
        public let client: GatehouseClient
        /// Asks the user for recent authentication.
        let prompt = ReauthenticationPrompt()
        /// Why the system does not show the biometrics dialog now.
        let obstacle: @MainActor () -> UnlockObstacle?
        /// The offer to merge the account with another one. The gate shows it in a sheet, once after a sign-in.
        @Published var mergeOffer: MergeOffer?
        /// The signed-in user, who has been told of conflicts.
        private var offered: UUID?
        @Published private(set) var life: AppLife
        private let center: NotificationCenter
        private var events: AppEvents?
        private var following: Task<Void, Never>?
        /// An `ObservationRegistrar`, which a stored property cannot name below iOS 17.
        private let registrar: (any Sendable)? = {
            if #available(iOS 17, macOS 14, tvOS 17, watchOS 10, *) { ObservationRegistrar() } else { nil }
        }()

        /// - Parameters:
        ///   - client: the app's client.
        ///   - lockDelay: the time in the background after which a session that requires Face ID or Touch ID is locked.
        ///     With zero it is locked at once. A Mac app is in the background while it is hidden.
        public convenience init(_ client: GatehouseClient, lockDelay: Duration = .seconds(300)) {
            self.init(client, lockDelay: lockDelay, obstacle: UnlockObstacle.now)
        }

        init(
            _ client: GatehouseClient, lockDelay: Duration = .seconds(300),
            obstacle: @escaping @MainActor () -> UnlockObstacle?, center: NotificationCenter = .default
        ) {
            self.client = client
            self.obstacle = obstacle
            self.center = center
            life = AppLife(lockDelay: lockDelay)
        }

        deinit { following?.cancel() }

        /// Reads the stored session, and what an extension has changed since. The gate calls this when it appears, when
        /// the app becomes active, and when the device is unlocked.
        public func start() async {
            follow()
            do {
                try await client.session.start()
                launchError = nil
                await client.session.reload()
            } catch {
                // `locked` is a state with its own screen.
                launchError = error.kind == .locked ? nil : error
            }
        }

        /// Shows the system's dialog for Face ID or Touch ID.
        ///
        /// - Parameter reason: the dialog's text, in the user's language.
        /// - Throws: `locked` if the user cancelled or failed to authenticate.
        public func unlock(reason: String) async throws(GatehouseError) {
            follow()
            try await client.session.unlock(reason: reason)
        }

        /// Whether the gate covers the content.
        var isCovered: Bool { isProtected && life.hidesProtectedContent }

        /// Whether a session is open that requires the user's authentication.
        private var isProtected: Bool {
            guard case .signedIn = state else { return false }
            return client.configuration.store.requiresUserPresence
        }

        private func observed<Value>(_ property: KeyPath<AppSession, Value>, _ value: Value) -> Value {
            if #available(iOS 17, macOS 14, tvOS 17, watchOS 10, *), let registrar = registrar as? ObservationRegistrar
            {
                registrar.access(self, keyPath: property)
            }
            return value
        }

        private func change<Value>(_ property: KeyPath<AppSession, Value>, _ body: () -> Void) {
            if #available(iOS 17, macOS 14, tvOS 17, watchOS 10, *), let registrar = registrar as? ObservationRegistrar
            {
                registrar.withMutation(of: self, keyPath: property, body)
            } else {
                body()
            }
        }

        private func follow() {
            guard following == nil else { return }
            events = AppEvents(in: center) { [weak self] event in self?.handle(event) }
            following = Task { [weak self, changes = client.session.changes()] in
                for await change in changes {
                    guard let self else { return }
                    state = AppState(change)
                    offerMerge(to: change.user)
                    prompt.sessionChanged(to: change.user?.id)
                    if change.user == nil { life.sessionClosed() }
                }
            }
        }

        private func offerMerge(to user: GatehouseClient.User?) {
            guard offered != user?.id else { return }
            offered = user?.id
            mergeOffer = user.flatMap { MergeOffer($0, kinds: client.conflictingIdentifiers(of: $0)) }
        }

        private func handle(_ event: AppLife.Event) {
            let now = client.configuration.clock.monotonic
            guard let action = life.handle(event, at: now, isProtected: isProtected) else { return }
            Task {
                switch action {
                case .restore: await start()
                case .refresh:
                    await start()
                    await client.session.cameToForeground()
                case .lock: await client.session.lock()
                }
            }
        }
    }

    @available(iOS 17, macOS 14, tvOS 17, watchOS 10, *)
    extension AppSession: Observable {}
#endif
