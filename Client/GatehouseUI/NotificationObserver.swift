#if canImport(UIKit) || canImport(AppKit)
    import Foundation
    import GatehouseClient

    #if canImport(UIKit)
        import UIKit
    #else
        import AppKit
    #endif

    /// Observes a notification that the system posts on the main actor, until it is deallocated.
    final class NotificationObserver {
        private let center: NotificationCenter
        private let observer: any NSObjectProtocol

        @MainActor
        init(
            of name: Notification.Name, in center: NotificationCenter = .default,
            _ handle: @escaping @MainActor () -> Void
        ) {
            self.center = center
            observer = center.addObserver(forName: name, object: nil, queue: nil) { _ in
                MainActor.assumeIsolated { handle() }
            }
        }

        deinit { center.removeObserver(observer) }
    }

    extension AppLife.Event {
        /// Observes the app's life cycle.
        ///
        /// It uses the application's notifications, because the environment's `scenePhase` stays `.background` in a
        /// screen that a UIKit app hosts. They are handled before the post returns, so that the screens are covered
        /// before the system takes their picture for the app switcher.
        @MainActor
        static func observe(
            in center: NotificationCenter, _ handle: @escaping @MainActor (Self) -> Void
        ) -> [NotificationObserver] {
            allCases.compactMap { event in
                event.notification.map { name in NotificationObserver(of: name, in: center) { handle(event) } }
            }
        }

        /// The notification of the event; `nil` if the system has none.
        @MainActor
        var notification: Notification.Name? {
            #if canImport(UIKit)
                switch self {
                case .becameActive: UIApplication.didBecomeActiveNotification
                case .protectedDataBecameAvailable: UIApplication.protectedDataDidBecomeAvailableNotification
                case .resignedActive: UIApplication.willResignActiveNotification
                case .enteredBackground: UIApplication.didEnterBackgroundNotification
                }
            #else
                // A Mac shows the windows of inactive apps, and its Touch ID dialog makes an app inactive. So an app is
                // in the background only while the user has hidden it.
                switch self {
                case .becameActive: NSApplication.didBecomeActiveNotification
                case .enteredBackground: NSApplication.didHideNotification
                case .protectedDataBecameAvailable, .resignedActive: nil
                }
            #endif
        }
    }
#endif
