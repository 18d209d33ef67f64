#if canImport(SwiftUI) && canImport(AuthenticationServices)
    import AuthenticationServices
    import Foundation
    import GatehouseClient
    import SwiftUI

    /// Apple's own button, with a nonce for each request.
    struct AppleButton: View {
        /// Called with a credential, or with the error of Apple's dialog. Its kind is `cancelled` if the user closed
        /// it.
        let completed: @MainActor (Result<AppleCredential, GatehouseError>) -> Void
        @Environment(\.colorScheme) private var colorScheme
        @State private var nonce = AppleNonce.random()

        var body: some View {
            SignInWithAppleButton(.signIn) { request in
                nonce = .random()
                request.requestedScopes = [.fullName, .email]
                request.nonce = nonce.value
            } onCompletion: { result in
                do throws(GatehouseError) {
                    completed(.success(try AppleCredential(result, nonce: nonce)))
                } catch {
                    completed(.failure(error))
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
