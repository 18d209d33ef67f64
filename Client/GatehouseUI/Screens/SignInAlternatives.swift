#if canImport(SwiftUI)
    import Foundation
    import GatehouseClient
    import SwiftUI

    /// The buttons of the sign-in screen that lead to a code and to a new account.
    struct SignInAlternatives: View {
        private enum Screen: Identifiable {
            case code, register

            var id: Self { self }
        }

        let client: GatehouseClient
        let options: LoginView.Options
        let texts: Texts
        @State private var screen: Screen?
        @Environment(\.gatehouseStyle) private var style

        var body: some View {
            VStack(spacing: style.fieldSpacing) {
                if options.offersCode {
                    Button(texts[.codeTitle]) { screen = .code }
                        .accessibilityIdentifier("gatehouse.login.code")
                }
                if options.offersRegistration {
                    Button(texts[.register]) { screen = .register }
                        .accessibilityIdentifier("gatehouse.login.register")
                }
            }
            .sheet(item: $screen) { screen in
                SheetScreen(texts: texts) {
                    switch screen {
                    case .code: CodeView(client: client)
                    case .register:
                        RegisterView(client: client, minimumPasswordLength: options.minimumPasswordLength)
                    }
                }
            }
        }
    }
#endif
