#if canImport(SwiftUI) && canImport(AuthenticationServices)
    public import AuthenticationServices
    import Foundation
    public import GatehouseClient

    #if canImport(UIKit)
        public import UIKit
    #else
        public import AppKit
    #endif

    extension GatehouseClient {
        /// Shows Apple's dialog, and signs in with its result. A new user is registered.
        ///
        /// - Parameter window: the window with the button. By default the key window of the scene in the foreground: on
        ///   an iPad that shows two windows of the app, pass the window, or use `SignInWithAppleButton`.
        /// - Throws: `cancelled` if the user closed the dialog, which is not an error to show; `misuse` if the app has
        ///   no window in the foreground; otherwise as ``GatehouseClient/signIn(with:)``.
        @MainActor
        @discardableResult
        public func signInWithApple(
            in window: ASPresentationAnchor? = nil
        ) async throws(GatehouseError) -> GatehouseClient.User {
            guard let window = window ?? AppleDialog.foregroundWindow else {
                throw GatehouseError(.misuse, reason: "the app has no key window in the foreground")
            }
            let outcome: Result<AppleCredential, GatehouseError>
            do throws(GatehouseError) {
                outcome = .success(try await AppleDialog.credential(in: window))
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
        static func credential(in window: ASPresentationAnchor) async throws(GatehouseError) -> AppleCredential {
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
        static var foregroundWindow: ASPresentationAnchor? {
            #if canImport(UIKit)
                // A set. An app has more scenes than are on the screen.
                let scenes = UIApplication.shared.connectedScenes.compactMap { $0 as? UIWindowScene }
                // A scene is inactive while a dialog of the system is above it.
                return [UIScene.ActivationState.foregroundActive, .foregroundInactive].lazy
                    .compactMap { state in scenes.first { $0.activationState == state && $0.keyWindow != nil } }
                    .first?.keyWindow
            #else
                return NSApplication.shared.keyWindow
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
