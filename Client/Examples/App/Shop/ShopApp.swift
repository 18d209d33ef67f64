import Foundation
import GatehouseClient
import GatehouseUI
import SwiftUI

@main
struct ShopApp: App {
    @UIApplicationDelegateAdaptor private var delegate: AppDelegate
    @State private var session = AppSession(.shop)
    @State private var link: MessageLink?
    /// The link of a message with a sign-in code (`IDENTITY_CODE_LINK_URL`).
    @State private var codeLink: URL?

    var body: some Scene {
        WindowGroup {
            HomeView(push: delegate.push)
                .gatehouse(session, options: options)
                .codeLink(codeLink)
                .onOpenURL(perform: open)
                .sheet(item: $link) { LinkView(link: $0) }
                // Last, so that the sheet has the style too.
                .gatehouseStyle(GatehouseStyle(tint: .orange))
        }
    }

    private func open(_ url: URL) {
        link = MessageLink(url)
        if link == nil { codeLink = url }
    }

    private var options: LoginView.Options {
        LoginView.Options(offersCode: true, offersRegistration: true)
            .logo { Image(systemName: "bag").accessibilityHidden(true) }
    }
}
