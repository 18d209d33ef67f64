#if canImport(UserNotifications)
    public import Foundation
    public import GatehouseClient
    public import UserNotifications

    #if canImport(UIKit)
        import UIKit
    #else
        import AppKit
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
    /// func application(_: UIApplication, didFailToRegisterForRemoteNotificationsWithError error: any Error) {
    ///     push.failed(error)
    /// }
    /// ```
    ///
    /// The device is registered while a user is signed in: at launch, and when the token, the user or the app's version
    /// changes. Failed registrations are retried when the app comes to the foreground. Signing out removes the device
    /// from the server's list.
    @MainActor
    public final class PushHelper {
        public let registration: PushRegistration
        private let askForToken: @MainActor () -> Void
        private var isStarted = false
        /// Whether the system has returned an error for the last request.
        private var lacksToken = false
        private let center: NotificationCenter
        private var events: AppEvents?

        public convenience init(_ registration: PushRegistration) {
            self.init(registration) {
                #if canImport(UIKit)
                    UIApplication.shared.registerForRemoteNotifications()
                #else
                    NSApplication.shared.registerForRemoteNotifications()
                #endif
            }
        }

        init(
            _ registration: PushRegistration, center: NotificationCenter = .default,
            askForToken: @escaping @MainActor () -> Void
        ) {
            self.registration = registration
            self.center = center
            self.askForToken = askForToken
        }

        /// Call this at each launch: Apple requires apps to request their token each time. No dialog is shown.
        public func start(with session: GatehouseSession) async {
            guard !isStarted else { return }
            isStarted = true
            events = AppEvents(in: center) { [weak self] event in
                if event == .becameActive { self?.cameToForeground() }
            }
            askForToken()
            await session.add(registration)
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
            lacksToken = false
            Task { [registration] in await registration.received(deviceToken: deviceToken) }
        }

        /// Call this when the system reports that it has no token, for example without a network. The next return to
        /// the foreground requests a token again.
        public func failed(_ error: any Error) {
            lacksToken = true
            registration.failed(error)
        }

        private func cameToForeground() {
            if lacksToken { askForToken() }
            Task { [registration] in await registration.cameToForeground() }
        }
    }
#endif
