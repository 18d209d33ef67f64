#if canImport(SwiftUI) && canImport(AuthenticationServices)
    import AuthenticationServices
    import Foundation
    import GatehouseClient
    import SwiftUI

    /// Apple's own button, with a nonce for each request.
    struct AppleButton: View {
        let send: @MainActor (LoginForm.Event) -> Void
        @Environment(\.colorScheme) private var colorScheme
        @State private var nonce = AppleNonce.random()

        var body: some View {
            SignInWithAppleButton(.signIn) { request in
                nonce = .random()
                request.requestedScopes = [.fullName, .email]
                request.nonce = nonce.value
            } onCompletion: { result in
                do throws(GatehouseError) {
                    send(.appleSucceeded(try AppleCredential(result, nonce: nonce)))
                } catch {
                    send(.appleFailed(error))
                }
            }
            .signInWithAppleButtonStyle(colorScheme == .dark ? .white : .black)
            .frame(minHeight: 50, maxHeight: 64)
            // The button reads its style only when it is created, so a new color scheme needs a new button.
            .id(colorScheme)
            .accessibilityIdentifier("gatehouse.login.apple")
        }
    }
#endif
