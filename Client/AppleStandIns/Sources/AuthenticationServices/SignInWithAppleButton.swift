public import SwiftUI

// AuthenticationServices, "SignInWithAppleButton"
public struct SignInWithAppleButton: View {
    // AuthenticationServices, "SignInWithAppleButton.Label"
    public struct Label: Sendable {
        public static let signIn = Label()
        public static let `continue` = Label()
        public static let signUp = Label()
    }

    // AuthenticationServices, "SignInWithAppleButton.Style"
    public struct Style: Sendable, Equatable {
        let name: String

        public static let black = Style(name: "black")
        public static let white = Style(name: "white")
        public static let whiteOutline = Style(name: "whiteOutline")
    }

    private let onRequest: (ASAuthorizationAppleIDRequest) -> Void
    private let onCompletion: (Result<ASAuthorization, any Error>) -> Void

    // AuthenticationServices, "init(_:onRequest:onCompletion:)"
    public init(
        _ label: SignInWithAppleButton.Label = .signIn,
        onRequest: @escaping (ASAuthorizationAppleIDRequest) -> Void,
        onCompletion: @escaping (Result<ASAuthorization, any Error>) -> Void
    ) {
        self.onRequest = onRequest
        self.onCompletion = onCompletion
    }

    public var body: some View {
        Button("Sign in with Apple") {
            let request = ASAuthorizationAppleIDRequest()
            onRequest(request)
            onCompletion(SimulatedAppleDialog.answer(request))
        }
    }
}

extension View {
    // AuthenticationServices, "signInWithAppleButtonStyle(_:)"
    public func signInWithAppleButtonStyle(_ style: SignInWithAppleButton.Style) -> some View {
        changed { $0.style = style.name }
    }
}

/// For tests: what Apple's dialog gives the next button that is tapped.
@MainActor
public enum SimulatedAppleDialog {
    public static var answer: (ASAuthorizationAppleIDRequest) -> Result<ASAuthorization, any Error> = { _ in
        .failure(ASAuthorizationError(.canceled))
    }
}
