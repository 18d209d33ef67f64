import GatehouseClient
import GatehouseUI
import SwiftUI

@main
struct ShopApp: App {
    @UIApplicationDelegateAdaptor private var delegate: AppDelegate
    @State private var session = AppSession(.shop)

    var body: some Scene {
        WindowGroup {
            HomeView(push: delegate.push)
                .gatehouse(session)
        }
    }
}
