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
    /// The device is registered while a user is signed in: at launch, and when the token, the user, the app's version
    /// or the user's permission changes. Failed registrations are retried, and the permission is read again, when the
    /// app comes to the foreground. Signing out removes the device from the server's list.
    @MainActor
    public final class PushHelper {
        public let registration: PushRegistration
        private let askForToken: @MainActor () -> Void
        private var isStarted = false
        /// Whether the system has returned an error for the last request.
        private var lacksToken = false
        private let center: NotificationCenter
        private var events: [NotificationObserver] = []

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
            events = AppLife.Event.observe(in: center) { [weak self] event in
                if event == .becameActive { self?.cameToForeground() }
            }
            askForToken()
            // Before the registration learns of the user, so that one registration carries both.
            await passPermissionOn()
            await session.add(registration)
        }

        /// Asks the user for permission to show notifications. The system asks only once per installation.
        ///
        /// - Returns: whether the app may show notifications.
        public func requestPermission(
            _ options: UNAuthorizationOptions = [.alert, .badge, .sound]
        ) async throws -> Bool {
            let isAllowed = try await UNUserNotificationCenter.current().requestAuthorization(options: options)
            await passPermissionOn()
            return isAllowed
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
            Task {
                // The user may have changed it in Settings.
                await passPermissionOn()
                await registration.cameToForeground()
            }
        }

        private func passPermissionOn() async {
            await registration.received(alertsAllowed: Self.alertsAllowed())
        }

        /// Whether the system shows the app's notifications. Before the user's decision it does not.
        ///
        /// Nonisolated, because the settings are not `Sendable`.
        private nonisolated static func alertsAllowed() async -> Bool {
            switch await UNUserNotificationCenter.current().notificationSettings().authorizationStatus {
            case .notDetermined, .denied: false
            // Authorized, provisionally or for an App Clip.
            default: true
            }
        }
    }
#endif
