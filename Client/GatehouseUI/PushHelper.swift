#if canImport(UserNotifications)
    public import Foundation
    public import GatehouseClient
    public import UserNotifications

    #if canImport(UIKit)
        import UIKit
    #endif

    /// Push notifications: the user's permission, the device token and the registration at the server.
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
    /// The device is registered while a user is signed in: at launch, and when the token, the user or the app's version
    /// changes. Failed registrations are retried when the app comes to the foreground. Signing out removes the device
    /// from the server's list.
    @MainActor
    public final class PushHelper {
        public let registration: PushRegistration
        private let askForToken: () -> Void
        private var isStarted = false
        private var following: Task<Void, Never>?

        /// - Parameter askForToken: requests a device token from the system; on a Mac
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

        /// Call this at each launch: Apple requires apps to request their token each time. No dialog is shown.
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

        /// Asks the user for permission to show notifications. The system asks only once per installation.
        ///
        /// - Returns: whether the app may show notifications.
        public func requestPermission(
            _ options: UNAuthorizationOptions = [.alert, .badge, .sound]
        ) async throws -> Bool {
            try await UNUserNotificationCenter.current().requestAuthorization(options: options)
        }

        /// Call this when the system delivers a token.
        public func received(deviceToken: Data) {
            Task { [registration] in await registration.received(deviceToken: deviceToken) }
        }

        /// Retries a failed registration when the app comes to the foreground. With UIKit this happens automatically.
        /// On a Mac, call it in the app delegate's `applicationDidBecomeActive(_:)`.
        public func cameToForeground() {
            Task { [registration] in await registration.cameToForeground() }
        }
    }
#endif
