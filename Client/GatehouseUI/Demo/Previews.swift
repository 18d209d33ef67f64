#if DEBUG && canImport(SwiftUI)
    import Foundation
    import GatehouseClient
    import SwiftUI

    // Types, because `#Preview` needs a plug-in of the compiler that only Xcode has.

    struct GatePreviews: PreviewProvider {
        static var previews: some View {
            Text(verbatim: "Orders").gatehouse(.demo(isSignedIn: false)).previewDisplayName("Gate")
            UnlockView(model: UnlockModel(session: .demo())).previewDisplayName("Unlock")
            UnlockView(model: UnlockModel(session: .demo()))
                .environment(\.dynamicTypeSize, .accessibility5)
                .previewDisplayName("Unlock, accessibility size")
            LaunchView(session: .demo(isSignedIn: false)).previewDisplayName("Launch")
        }
    }

    struct SignInPreviews: PreviewProvider {
        private static let client = AppSession.demo(isSignedIn: false).client

        static var previews: some View {
            LoginView(
                client: client, options: .init(offersCode: true, offersRegistration: true), after: .endedByServer
            )
            .previewDisplayName("Sign-in")
            LoginView(client: client)
                .gatehouseStyle(GatehouseStyle(tint: .orange, spacing: 32).background { Color.orange.opacity(0.1) })
                .previewDisplayName("Sign-in, styled")
            LoginView(client: client)
                .environment(\.locale, Locale(identifier: "he"))
                .previewDisplayName("Sign-in, Hebrew")
            CodeView(client: client).previewDisplayName("Code")
            RegisterView(client: client).previewDisplayName("Registration")
            ForgottenPasswordView(client: client).previewDisplayName("Forgotten password")
            ResetPasswordView(client: client, token: "token").previewDisplayName("New password")
            UndoIdentifierChangeView(client: client, token: "token").previewDisplayName("Undo")
        }
    }

    struct AccountPreviews: PreviewProvider {
        private static let session = AppSession.demo()

        static var previews: some View {
            AccountView(session: session) { UnlockSection(session: session) }.previewDisplayName("Account")
            NavigationStack { SessionsView(client: session.client) }.previewDisplayName("Devices")
            List { UnlockSection(session: session) }.previewDisplayName("Lock")
        }
    }
#endif
