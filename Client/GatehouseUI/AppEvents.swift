#if canImport(UIKit) || canImport(AppKit)
    import Foundation
    import GatehouseClient

    #if canImport(UIKit)
        import UIKit
    #else
        import AppKit
    #endif

    /// Observes the app's life cycle until it is deallocated.
    ///
    /// It uses the application's notifications, because the environment's `scenePhase` stays `.background` in a screen
    /// that a UIKit app hosts. The system posts them on the main actor. They are handled before the post returns, so
    /// that the screens are covered before the system takes their picture for the app switcher.
    final class AppEvents {
        private let center: NotificationCenter
        private let observers: [any NSObjectProtocol]

        @MainActor
        init(in center: NotificationCenter, _ handle: @escaping @MainActor (AppLife.Event) -> Void) {
            self.center = center
            observers = AppLife.Event.allCases.compactMap { event in
                event.notification.map { name in
                    center.addObserver(forName: name, object: nil, queue: nil) { _ in
                        MainActor.assumeIsolated { handle(event) }
                    }
                }
            }
        }

        deinit { for observer in observers { center.removeObserver(observer) } }
    }

    extension AppLife.Event {
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
