public import Foundation

#if canImport(UIKit)
    public import UIKit
#else
    public import AppKit
#endif

// AuthenticationServices, "ASPresentationAnchor"
#if canImport(UIKit)
    public typealias ASPresentationAnchor = UIWindow
#else
    public typealias ASPresentationAnchor = NSWindow
#endif

// AuthenticationServices, "ASAuthorizationRequest"
open class ASAuthorizationRequest: NSObject {}

// AuthenticationServices, "ASAuthorizationControllerDelegate"
@MainActor
public protocol ASAuthorizationControllerDelegate: NSObjectProtocol {
    // AuthenticationServices, "authorizationController(controller:didCompleteWithAuthorization:)"
    func authorizationController(
        controller: ASAuthorizationController, didCompleteWithAuthorization authorization: ASAuthorization)

    // AuthenticationServices, "authorizationController(controller:didCompleteWithError:)"
    func authorizationController(controller: ASAuthorizationController, didCompleteWithError error: any Error)
}

// AuthenticationServices, "ASAuthorizationControllerPresentationContextProviding"
@MainActor
public protocol ASAuthorizationControllerPresentationContextProviding: NSObjectProtocol {
    // AuthenticationServices, "presentationAnchor(for:)"
    func presentationAnchor(for controller: ASAuthorizationController) -> ASPresentationAnchor
}

// AuthenticationServices, "ASAuthorizationController"
@MainActor
public final class ASAuthorizationController: NSObject {
    // AuthenticationServices, "authorizationRequests", "delegate", "presentationContextProvider"
    public let authorizationRequests: [ASAuthorizationRequest]
    public weak var delegate: (any ASAuthorizationControllerDelegate)?
    public weak var presentationContextProvider: (any ASAuthorizationControllerPresentationContextProviding)?

    // AuthenticationServices, "init(authorizationRequests:)"
    public init(authorizationRequests: [ASAuthorizationRequest]) {
        self.authorizationRequests = authorizationRequests
    }

    // AuthenticationServices, "performRequests()"
    public func performRequests() {
        guard let anchor = presentationContextProvider?.presentationAnchor(for: self),
            let request = authorizationRequests.first as? ASAuthorizationAppleIDRequest
        else { return }
        SimulatedAppleDialog.anchor = anchor
        switch SimulatedAppleDialog.answer?(request) ?? .failure(ASAuthorizationError(.notInteractive)) {
        case .success(let authorization):
            delegate?.authorizationController(controller: self, didCompleteWithAuthorization: authorization)
        case .failure(let error): delegate?.authorizationController(controller: self, didCompleteWithError: error)
        }
    }
}

/// For tests: what the user does in Apple's dialog.
@MainActor
public enum SimulatedAppleDialog {
    /// The window of the last dialog.
    public internal(set) static weak var anchor: ASPresentationAnchor?

    public static var answer: ((ASAuthorizationAppleIDRequest) -> Result<ASAuthorization, any Error>)?
}
