import Foundation
import GatehouseClient
import GatehouseUI
import SwiftUI
import UIKit
import UserNotifications

// The code of the article "Push notifications".

final class AppDelegate: NSObject, UIApplicationDelegate {
    let push: PushHelper

    override init() {
        let value = Bundle.main.object(forInfoDictionaryKey: "APSEnvironment") as? String
        guard let environment = PushEnvironment(entitlement: value) else {
            fatalError("APSEnvironment in Info.plist is neither development nor production")
        }
        push = PushHelper(PushRegistration(client: client, environment: environment))
        super.init()
    }

    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]? = nil
    ) -> Bool {
        Task { await push.start(with: client.session) }
        return true
    }

    func application(_ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken token: Data) {
        push.received(deviceToken: token)
    }

    func application(
        _ application: UIApplication, didFailToRegisterForRemoteNotificationsWithError error: any Error
    ) {
        push.failed(error)
    }
}

struct NotifiedShop: App {
    @UIApplicationDelegateAdaptor private var delegate: AppDelegate
    @State private var session = AppSession(client)

    var body: some Scene {
        WindowGroup { NotificationsButton(push: delegate.push).gatehouse(session) }
    }
}

struct NotificationsButton: View {
    let push: PushHelper
    @State private var isAllowed: Bool?

    var body: some View {
        Button("Notify me of new orders") {
            Task { isAllowed = try? await push.requestPermission() }
        }
        if isAllowed == false { Text("Switch notifications on in Settings.") }
    }
}

nonisolated struct NotificationCleaner: SessionCompanion {
    func sessionBegan(_ user: GatehouseClient.User) async {}

    func sessionEnded(_ reason: SignOutReason) async {
        UNUserNotificationCenter.current().removeAllDeliveredNotifications()
    }
}

func cleanNotifications() async {
    await client.session.add(NotificationCleaner())
}
