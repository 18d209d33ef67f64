import Foundation
import GatehouseClient
import SwiftUI
import Testing

@testable import GatehouseUI

@MainActor
@Suite("The gate's screens and their style")
struct GateTests {
    private let session = AppSession.demo(isSignedIn: false)

    private func screens(of view: some View) -> String { String(reflecting: type(of: view)) }

    @Test("The library's screens by default, and the app's own")
    func screens() {
        let standard = screens(of: Text(verbatim: "content").gatehouse(session))
        for screen in ["GatehouseUI.LoginView", "GatehouseUI.UnlockView", "GatehouseUI.LaunchView"] {
            #expect(standard.contains(screen))
        }
        let own = screens(of: ownScreens(session))
        for screen in ["SignInScreen", "UnlockScreen", "SplashScreen"] { #expect(own.contains(screen)) }
        let mixed = screens(
            of: ShopView().gatehouse(session) { SignInScreen(client: $0.client, reason: $1) }.gatehouseStyle(.init()))
        #expect(mixed.contains("SignInScreen") && mixed.contains("GatehouseUI.UnlockView"))
        #expect(screens(of: styled(session)).contains("GatehouseUI.LoginView"))
    }

    @Test("The unlock and launch screens scroll when they are higher than the screen")
    func scrolls() {
        for screen in [String(reflecting: UnlockView.Body.self), String(reflecting: LaunchView.Body.self)] {
            #expect(screen.contains("CenteredScreen"))
        }
        #expect(String(reflecting: CenteredScreen<Text>.Body.self).contains("ViewThatFits<SwiftUI.TupleView"))
        #expect(String(reflecting: CenteredScreen<Text>.Body.self).contains("SwiftUI.ScrollView<SwiftUI.Text>"))
    }

    @Test("The style is in the environment, with a background of any kind")
    func style() {
        var values = EnvironmentValues()
        #expect(values.gatehouseStyle.tint == nil && values.gatehouseStyle.spacing == 20)
        values.gatehouseStyle = GatehouseStyle(tint: .orange, spacing: 8).background { Color.orange }
        #expect(values.gatehouseStyle.tint != nil && values.gatehouseStyle.spacing == 8)
        #expect(values.gatehouseStyle.background?() != nil)
        #expect(EnvironmentValues().gatehouseStyle.background == nil)
    }

    @Test("The window above the content has the gate's language, style and link of a message")
    func windowEnvironment() {
        var gate = EnvironmentValues()
        gate.locale = Locale(identifier: "he")
        gate.gatehouseStyle = GatehouseStyle(spacing: 8)
        gate.codeLink = URL(string: "https://shop.example.com/code#token")
        let window = EnvironmentValues(simulated: Text(verbatim: "unlock").gateEnvironment(gate))
        #expect(window.locale == gate.locale && window.gatehouseStyle.spacing == 8)
        #expect(window.codeLink == gate.codeLink)
    }

    @Test("A preview of each screen needs no server and no task")
    func previews() {
        let session = AppSession.demo()
        let views: [any View] = [
            LoginView(client: session.client), LaunchView(session: session),
            UnlockView(model: UnlockModel(session: session)), AccountView(session: session),
            SessionsView(client: session.client), CodeView(client: session.client),
            RegisterView(client: session.client), ForgottenPasswordView(client: session.client),
            ResetPasswordView(client: session.client, token: "t"),
            UndoIdentifierChangeView(client: session.client, token: "t"), UnlockSection(session: session),
        ]
        #expect(views.count == 11 && session.isAuthenticated)
        #expect(AppSession.demo(isSignedIn: false).state == .launching)
    }

    @Test("A user identifies a sheet or a row")
    func identifiable() {
        func id<Value: Identifiable>(of value: Value) -> Value.ID { value.id }
        #expect(id(of: Sample.user) == Sample.user.id)
    }
}
