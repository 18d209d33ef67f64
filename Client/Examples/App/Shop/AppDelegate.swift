import Foundation
import GatehouseClient
import GatehouseUI
import UIKit

/// Creates the client when the process starts, and receives the device token from the system.
final class AppDelegate: NSObject, UIApplicationDelegate {
    static let client: GatehouseClient = {
        do throws(GatehouseError) {
            return try GatehouseClient(configuration: .shop)
        } catch {
            fatalError("GatehouseURL in Info.plist: \(error.reason ?? "")")
        }
    }()

    let push = PushHelper(PushRegistration(client: AppDelegate.client, environment: .ofThisBuild))

    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]? = nil
    ) -> Bool {
        Task {
            let session = AppDelegate.client.session
            await session.add(AppleCredentialMonitor(session: session))
            await push.start(with: session)
        }
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
