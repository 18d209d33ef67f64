#if canImport(UserNotifications)
    public import Foundation
    public import GatehouseClient
    public import UserNotifications

    #if canImport(UIKit)
        import UIKit
    #endif

    /// Push notifications, from the user's permission to the server's list of devices.
    ///
    /// ```swift
    /// func application(_: UIApplication, didFinishLaunchingWithOptions: …) -> Bool {
    ///     Task { await push.start(with: client.session) }
    ///     return true
    /// }
    /// func application(_: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken token: Data) {
    ///     push.received(deviceToken: token)
    /// }
    /// ```
    ///
    /// The device is registered as long as somebody is signed in: at launch, and when the token, the user or the app's
    /// version is another; what has failed is tried again when the app comes to the foreground. Signing out takes the
    /// device off the server's list.
    @MainActor
    public final class PushHelper {
        public let registration: PushRegistration
        private let askForToken: () -> Void
        private var isStarted = false
        private var following: Task<Void, Never>?

        /// - Parameter askForToken: asks the system for a device token; on a Mac
        ///   `NSApplication.shared.registerForRemoteNotifications()`.
        public init(_ registration: PushRegistration, askForToken: @escaping () -> Void) {
            self.registration = registration
            self.askForToken = askForToken
        }

        #if canImport(UIKit)
            public convenience init(_ registration: PushRegistration) {
                self.init(registration) { UIApplication.shared.registerForRemoteNotifications() }
            }
        #endif

        deinit { following?.cancel() }

        /// At each launch: Apple asks apps to fetch their token anew. No dialog is shown.
        public func start(with session: Session) async {
            guard !isStarted else { return }
            isStarted = true
            followForeground()
            askForToken()
            await session.add(registration)
        }

        private func followForeground() {
            #if canImport(UIKit)
                let (returns, continuation) = AsyncStream.makeStream(
                    of: Void.self, bufferingPolicy: .bufferingNewest(1))
                let center = NotificationCenter.default
                let observer = center.addObserver(
                    forName: UIApplication.willEnterForegroundNotification, object: nil, queue: nil
                ) { _ in continuation.yield() }
                following = Task { [registration] in
                    for await _ in returns { await registration.cameToForeground() }
                    center.removeObserver(observer)
                }
            #endif
        }

        /// Asks the user, once in an app's life, whether notifications may be shown.
        ///
        /// - Returns: whether they may.
        public func requestPermission(
            _ options: UNAuthorizationOptions = [.alert, .badge, .sound]
        ) async throws -> Bool {
            try await UNUserNotificationCenter.current().requestAuthorization(options: options)
        }

        /// The system has given a token.
        public func received(deviceToken: Data) {
            Task { [registration] in await registration.received(deviceToken: deviceToken) }
        }

        /// The app comes to the foreground: a registration that has failed is tried again. Where there is UIKit nobody
        /// has to call this; on a Mac the app's delegate does, in `applicationDidBecomeActive(_:)`.
        public func cameToForeground() {
            Task { [registration] in await registration.cameToForeground() }
        }
    }
#endif
