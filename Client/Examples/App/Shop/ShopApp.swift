import GatehouseClient
import GatehouseUI
import SwiftUI

@main
struct ShopApp: App {
    @UIApplicationDelegateAdaptor private var delegate: AppDelegate
    @StateObject private var session = AppSession(client: AppDelegate.client)

    var body: some Scene {
        WindowGroup {
            HomeView(push: delegate.push)
                .gatehouse(session)
        }
    }
}
