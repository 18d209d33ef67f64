import Foundation
import GatehouseClient
import GatehouseUI
import UIKit

/// Receives the device token from the system.
final class AppDelegate: NSObject, UIApplicationDelegate {
    let push = PushHelper(PushRegistration(client: .shop, environment: .ofThisBuild))

    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]? = nil
    ) -> Bool {
        Task { await push.start(with: GatehouseClient.shop.session) }
        return true
    }

    func application(
        _ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data
    ) {
        push.received(deviceToken: deviceToken)
    }

    func application(
        _ application: UIApplication, didFailToRegisterForRemoteNotificationsWithError error: any Error
    ) {
        push.failed(error)
    }
}
