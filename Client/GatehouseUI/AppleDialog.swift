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
        /// - Parameter window: the window with the button. By default the key window of the scene in the foreground; of
        ///   two on an iPad, the scene that is active.
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
                // An app has more scenes than are on the screen.
                return UIApplication.shared.connectedScenes.compactMap { $0 as? UIWindowScene }
                    .filter { $0.isInForeground && $0.keyWindow != nil }
                    .min { $0.rank < $1.rank }?.keyWindow
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

    #if canImport(UIKit)
        extension UIWindowScene {
            /// A scene is inactive while a dialog of the system is above it.
            fileprivate var isInForeground: Bool { [.foregroundActive, .foregroundInactive].contains(activationState) }

            /// Orders the scenes in the foreground. The least is the one that the user works in.
            ///
            /// Both scenes of an iPad that shows two are `foregroundActive`; only one has the active appearance.
            /// `connectedScenes` has no order, so the identifier decides between equals.
            fileprivate var rank: (Int, Int, String) {
                (
                    activationState == .foregroundActive ? 0 : 1,
                    traitCollection.activeAppearance == .active ? 0 : 1, session.persistentIdentifier
                )
            }
        }
    #endif
#endif
