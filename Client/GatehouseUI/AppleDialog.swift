#if canImport(SwiftUI) && canImport(AuthenticationServices)
    import AuthenticationServices
    import Foundation
    public import GatehouseClient

    #if canImport(UIKit)
        import UIKit
    #else
        import AppKit
    #endif

    extension GatehouseClient {
        /// Shows Apple's dialog in the app's key window, and signs in with its result. A new user is registered.
        ///
        /// - Throws: `cancelled` if the user closed the dialog, which is not an error to show; `misuse` if the app has
        ///   no window; otherwise as ``GatehouseClient/signIn(with:)``.
        @MainActor
        @discardableResult
        public func signInWithApple() async throws(GatehouseError) -> GatehouseClient.User {
            let outcome: Result<AppleCredential, GatehouseError>
            do throws(GatehouseError) {
                outcome = .success(try await AppleDialog.credential())
            } catch {
                outcome = .failure(error)
            }
            return try await signIn(withApple: outcome)
        }
    }

    /// Apple's dialog for one request. The system calls its methods on the main thread.
    final class AppleDialog: NSObject, ASAuthorizationControllerDelegate,
        ASAuthorizationControllerPresentationContextProviding
    {
        private let window: ASPresentationAnchor
        private let nonce: AppleNonce
        private let continuation: CheckedContinuation<Result<AppleCredential, GatehouseError>, Never>

        private init(
            in window: ASPresentationAnchor, _ nonce: AppleNonce,
            _ continuation: CheckedContinuation<Result<AppleCredential, GatehouseError>, Never>
        ) {
            self.window = window
            self.nonce = nonce
            self.continuation = continuation
            super.init()
        }

        @MainActor
        static func credential() async throws(GatehouseError) -> AppleCredential {
            guard let window = keyWindow else { throw GatehouseError(.misuse, reason: "the app has no key window") }
            let nonce = AppleNonce.random()
            let request = ASAuthorizationAppleIDProvider().createRequest()
            request.requestedScopes = [.fullName, .email]
            request.nonce = nonce.value
            let controller = ASAuthorizationController(authorizationRequests: [request])
            // The controller does not retain its delegate.
            var dialog: AppleDialog?
            let result = await withCheckedContinuation { continuation in
                dialog = AppleDialog(in: window, nonce, continuation)
                controller.delegate = dialog
                controller.presentationContextProvider = dialog
                controller.performRequests()
            }
            withExtendedLifetime(dialog) {}
            return try result.get()
        }

        @MainActor
        private static var keyWindow: ASPresentationAnchor? {
            #if canImport(UIKit)
                UIApplication.shared.connectedScenes.compactMap { ($0 as? UIWindowScene)?.keyWindow }.first
            #else
                NSApplication.shared.keyWindow
            #endif
        }

        nonisolated func presentationAnchor(for controller: ASAuthorizationController) -> ASPresentationAnchor {
            window
        }

        nonisolated func authorizationController(
            controller: ASAuthorizationController, didCompleteWithAuthorization authorization: ASAuthorization
        ) {
            end(.success(authorization))
        }

        nonisolated func authorizationController(
            controller: ASAuthorizationController, didCompleteWithError error: any Error
        ) {
            end(.failure(error))
        }

        private nonisolated func end(_ result: Result<ASAuthorization, any Error>) {
            do throws(GatehouseError) {
                continuation.resume(returning: .success(try AppleCredential(result, nonce: nonce)))
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
    }
#endif
