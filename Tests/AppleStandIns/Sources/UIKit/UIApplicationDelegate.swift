public import Foundation

// UIKit, "UIApplicationDelegate"
@MainActor
public protocol UIApplicationDelegate: NSObjectProtocol {
    // UIKit, "application(_:didFinishLaunchingWithOptions:)"
    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool

    // UIKit, "application(_:didRegisterForRemoteNotificationsWithDeviceToken:)"
    func application(
        _ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data)

    // UIKit, "application(_:didFailToRegisterForRemoteNotificationsWithError:)"
    func application(
        _ application: UIApplication, didFailToRegisterForRemoteNotificationsWithError error: any Error)
}

// Optional requirements, in Objective-C.
extension UIApplicationDelegate {
    public func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool { true }

    public func application(
        _ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data
    ) {}

    public func application(
        _ application: UIApplication, didFailToRegisterForRemoteNotificationsWithError error: any Error
    ) {}
}

extension UIApplication {
    // UIKit, "UIApplication.LaunchOptionsKey"
    public struct LaunchOptionsKey: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }
    }
}
