import AuthenticationServices
import GatehouseClient
import GatehouseUI
import SwiftUI

// The code of the article "Signing in with Apple".

struct AppleButtons: View {
    @State private var nonce = AppleNonce.random()
    @State private var error: GatehouseError?

    var body: some View {
        Button("Sign in with Apple") {
            Task {
                do throws(GatehouseError) {
                    try await client.signInWithApple()
                } catch {
                    if error.kind != .cancelled { self.error = error }
                }
            }
        }
        SignInWithAppleButton(.signIn) { request in
            nonce = .random()  // or one of the server: try await client.appleNonce()
            request.requestedScopes = [.fullName, .email]
            request.nonce = nonce.value
        } onCompletion: { result in  // Result<ASAuthorization, any Error>
            Task {
                do throws(GatehouseError) {
                    try await client.signIn(with: AppleCredential(result, nonce: nonce))
                } catch {
                    if error.kind != .cancelled { self.error = error }
                }
            }
        }
    }
}
