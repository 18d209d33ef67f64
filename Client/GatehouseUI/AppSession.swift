#if canImport(SwiftUI)
    public import Combine
    import Foundation
    public import GatehouseClient
    public import Observation

    #if canImport(UIKit)
        import UIKit
    #elseif canImport(AppKit)
        import AppKit
    #endif

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
        /// The user whose content is on the screen: the signed-in user, also while the session is locked. `nil` while
        /// no user is signed in, and until the user has unlocked the session of an earlier launch.
        public private(set) var currentUser: GatehouseClient.User? {
            get { observed(\.currentUser, publishedUser) }
            set { change(\.currentUser) { publishedUser = newValue } }
        }
        /// How the user unlocks the session. A device without enrolled biometrics or passcode does not follow it:
        /// ``GatehouseSession/isProtected``.
        public private(set) var unlockPolicy: UnlockPolicy {
            get { observed(\.unlockPolicy, publishedPolicy) }
            set { change(\.unlockPolicy) { publishedPolicy = newValue } }
        }
        /// Whether a user is signed in and the session is not locked.
        public var isAuthenticated: Bool {
            if case .signedIn = state { true } else { false }
        }
        @Published private var publishedState: AppState
        @Published private var publishedError: GatehouseError?
        @Published private var publishedUser: GatehouseClient.User?
        @Published private var publishedPolicy: UnlockPolicy
        public let client: GatehouseClient
        /// Asks the user for recent authentication.
        let prompt = ReauthenticationPrompt()
        /// Why the system does not show the biometrics dialog now.
        let obstacle: @MainActor () -> UnlockObstacle?
        /// The offer to merge the account with another one. The gate shows it in a sheet, once after a sign-in.
        @Published var mergeOffer: MergeOffer?
        /// Whether the gate tells the user, once after a sign-in, that this device cannot lock the session.
        @Published var lacksLock = false
        /// Whether ``lacksLock`` follows the merge offer. SwiftUI presents no alert of a view that presents a sheet.
        private var lacksLockAfterOffer = false
        /// The signed-in user, who has been told of conflicts.
        private var offered: UUID?
        @Published private(set) var life: AppLife
        private let center: NotificationCenter
        private let isInBackground: @MainActor () -> Bool
        private var events: [NotificationObserver] = []
        /// The windows above the content, which follow ``overlay`` while SwiftUI does not update the gate.
        private var overlayListeners: [UUID: @MainActor (Overlay?) -> Void] = [:]
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
            self.init(client, lockDelay: lockDelay, user: nil)
        }

        /// - Parameters:
        ///   - user: the user of a stored session that is not read yet and needs no unlocking.
        ///   - obstacle: by default the device's.
        ///   - isInBackground: whether the app is in the background.
        init(
            _ client: GatehouseClient, lockDelay: Duration = .seconds(300), user: GatehouseClient.User? = nil,
            obstacle: (@MainActor () -> UnlockObstacle?)? = nil, center: NotificationCenter = .default,
            isInBackground: @escaping @MainActor () -> Bool = { AppSession.isAppInBackground }
        ) {
            self.client = client
            self.obstacle = obstacle ?? { Self.obstacle(of: client) }
            self.center = center
            self.isInBackground = isInBackground
            publishedState = user.map(AppState.signedIn) ?? .launching
            publishedUser = user
            publishedPolicy = client.session.unlockPolicy
            life = AppLife(lockDelay: lockDelay)
        }

        private static func obstacle(of client: GatehouseClient) -> UnlockObstacle? {
            #if canImport(Security)
                client.session.unlockPolicy.obstacle
            #else
                nil
            #endif
        }

        private static var isAppInBackground: Bool {
            #if canImport(UIKit)
                UIApplication.shared.applicationState == .background
            #elseif canImport(AppKit)
                NSApplication.shared.isHidden
            #else
                false
            #endif
        }

        deinit { following?.cancel() }

        /// Reads the stored session, and what an extension has changed since. The gate calls this when it appears, when
        /// the app becomes active, and when the device is unlocked.
        public func start() async {
            follow()
            updateUnlockPolicy()
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

        /// Changes how the user unlocks the session, now and after later sign-ins. The client keeps the choice. The
        /// system's dialog appears first if a user is signed in.
        ///
        /// ```swift
        /// try await session.setUnlockPolicy(.biometricsOrPasscode)
        /// ```
        ///
        /// - Parameters:
        ///   - policy: the new policy.
        ///   - reason: the dialog's text, by default the library's in the app's language.
        /// - Throws: `locked` if the user cancelled or failed to authenticate; `unlockUnavailable` if the device has no
        ///   enrolled biometrics or passcode; `storage`.
        public func setUnlockPolicy(_ policy: UnlockPolicy, reason: String? = nil) async throws(GatehouseError) {
            let reason = reason ?? InterfaceText.lockReason.text(in: AppLanguage.current)
            try await client.session.setUnlockPolicy(policy, reason: reason)
            updateUnlockPolicy()
        }

        /// The screen that hides the content of ``currentUser``.
        var overlay: Overlay? {
            guard currentUser != nil else { return nil }
            return switch state {
            case .needsUnlock: .unlock
            case .launching: .launch
            case .signedIn, .signedOut: isCovered ? .cover : nil
            }
        }

        /// Passes each later value of ``overlay`` to a listener, before SwiftUI updates the gate.
        func addOverlayListener(_ id: UUID, _ listener: @escaping @MainActor (Overlay?) -> Void) {
            overlayListeners[id] = listener
        }

        func removeOverlayListener(_ id: UUID) { overlayListeners[id] = nil }

        private func updateOverlay() {
            for listener in overlayListeners.values { listener(overlay) }
        }

        /// Whether the gate covers the content of an open session.
        var isCovered: Bool { isProtected && life.hidesProtectedContent }

        /// Whether a session is open that requires the user's authentication.
        private var isProtected: Bool {
            isAuthenticated && client.session.isProtected
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
            // The app's notifications tell only what changes from now on.
            if isInBackground() { life.launchedInBackground() }
            events = AppLife.Event.observe(in: center) { [weak self] event in self?.handle(event) }
            following = Task { [weak self, changes = client.session.changes()] in
                for await change in changes {
                    guard let self else { return }
                    sessionChanged(to: change)
                }
            }
        }

        private func sessionChanged(to change: SessionState) {
            // A session whose user is known is shown before the store has been read.
            if change == .restoring, isAuthenticated { return }
            let isSignIn = state.isSignedOutOrLocked
            state = AppState(change)
            // Another process, or a call of the app to the client, may have changed it.
            updateUnlockPolicy()
            switch change {
            case .signedIn(let user):
                currentUser = user
                offerMerge(to: user)
                if isSignIn {
                    lacksLockAfterOffer = unlockPolicy != .notRequired && !client.session.isProtected
                    if mergeOffer == nil { mergeOfferClosed() }
                }
                prompt.sessionChanged(to: user.id)
            case .signedOut:
                currentUser = nil
                (lacksLock, lacksLockAfterOffer) = (false, false)
                offerMerge(to: nil)
                prompt.sessionChanged(to: nil)
            // The content stays as it is, below the unlock screen.
            case .locked, .restoring: break
            }
            if change.user == nil { life.sessionClosed() }
            updateOverlay()
        }

        private func updateUnlockPolicy() {
            let policy = client.session.unlockPolicy
            if policy != unlockPolicy { unlockPolicy = policy }
        }

        /// The sheet with the merge offer has disappeared, or the sign-in has none.
        func mergeOfferClosed() {
            if lacksLockAfterOffer { (lacksLock, lacksLockAfterOffer) = (true, false) }
        }

        private func offerMerge(to user: GatehouseClient.User?) {
            guard offered != user?.id else { return }
            offered = user?.id
            mergeOffer = user.flatMap { MergeOffer($0, kinds: client.conflictingIdentifiers(of: $0)) }
        }

        private func handle(_ event: AppLife.Event) {
            let now = client.configuration.clock.monotonic
            let action = life.handle(event, at: now, isProtected: isProtected)
            updateOverlay()
            guard let action else { return }
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

    extension AppState {
        /// Whether a sign-in can follow.
        fileprivate var isSignedOutOrLocked: Bool {
            switch self {
            case .signedOut, .needsUnlock: true
            case .launching, .signedIn: false
            }
        }
    }
#endif
