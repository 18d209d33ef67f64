#if DEBUG && canImport(DeveloperToolsSupport)
    // The framework with the macro's plug-in is Xcode's: stand-ins for SwiftUI have no previews.
    import DeveloperToolsSupport
    import Foundation
    import GatehouseClient
    import SwiftUI

    #Preview("Gate") { Text(verbatim: "Orders").gatehouse(.demo(isSignedIn: false)) }

    #Preview("Sign-in") {
        LoginView(
            client: AppSession.demo(isSignedIn: false).client,
            options: .init(offersCode: true, offersRegistration: true), after: .endedByServer)
    }

    #Preview("Sign-in, styled") {
        LoginView(client: AppSession.demo(isSignedIn: false).client)
            .gatehouseStyle(GatehouseStyle(tint: .orange, spacing: 32).background { Color.orange.opacity(0.1) })
    }

    #Preview("Sign-in, Hebrew") {
        LoginView(client: AppSession.demo(isSignedIn: false).client)
            .environment(\.locale, Locale(identifier: "he"))
    }

    #Preview("Code") { CodeView(client: AppSession.demo(isSignedIn: false).client) }

    #Preview("Unlock") { UnlockView(model: UnlockModel(session: .demo())) }

    #Preview("Unlock, accessibility size") {
        UnlockView(model: UnlockModel(session: .demo()))
            .environment(\.dynamicTypeSize, .accessibility5)
    }

    #Preview("Launch") { LaunchView(session: .demo(isSignedIn: false)) }

    #Preview("Registration") { RegisterView(client: AppSession.demo(isSignedIn: false).client) }

    #Preview("Forgotten password") { ForgottenPasswordView(client: AppSession.demo(isSignedIn: false).client) }

    #Preview("New password") { ResetPasswordView(client: AppSession.demo(isSignedIn: false).client, token: "token") }

    #Preview("Undo") { UndoIdentifierChangeView(client: AppSession.demo(isSignedIn: false).client, token: "token") }

    #Preview("Account") {
        let session = AppSession.demo()
        AccountView(session: session) { UnlockSection(session: session) }
    }

    #Preview("Devices") { NavigationStack { SessionsView(client: AppSession.demo().client) } }

    #Preview("Lock") { List { UnlockSection(session: .demo()) } }
#endif
