import GatehouseClient
import GatehouseUI
import SwiftUI

@main
struct ShopApp: App {
    @UIApplicationDelegateAdaptor private var delegate: AppDelegate
    @State private var session = AppSession(.shop)
    @State private var link: MessageLink?

    var body: some Scene {
        WindowGroup {
            HomeView(push: delegate.push)
                .gatehouse(session, options: options)
                .onOpenURL { link = MessageLink($0) }
                .sheet(item: $link) { LinkView(link: $0) }
        }
    }

    private var options: LoginView.Options {
        LoginView.Options(offersCode: true, offersRegistration: true)
            .logo { Image(systemName: "bag").accessibilityHidden(true) }
    }
}
