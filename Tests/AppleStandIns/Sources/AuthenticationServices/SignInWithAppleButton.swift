public import SwiftUI

// AuthenticationServices, "SignInWithAppleButton"
public struct SignInWithAppleButton: View {
    public typealias Body = Never

    // AuthenticationServices, "SignInWithAppleButton.Label"
    public struct Label: Sendable {
        public static let signIn = Label()
        public static let `continue` = Label()
        public static let signUp = Label()
    }

    // AuthenticationServices, "SignInWithAppleButton.Style"
    public struct Style: Sendable, Equatable {
        public static let black = Style()
        public static let white = Style()
        public static let whiteOutline = Style()
    }

    // AuthenticationServices, "init(_:onRequest:onCompletion:)"
    public init(
        _ label: SignInWithAppleButton.Label = .signIn,
        onRequest: @escaping (ASAuthorizationAppleIDRequest) -> Void,
        onCompletion: @escaping (Result<ASAuthorization, any Error>) -> Void
    ) {}
}

extension View {
    // AuthenticationServices, "signInWithAppleButtonStyle(_:)"
    public func signInWithAppleButtonStyle(_ style: SignInWithAppleButton.Style) -> some View { self }
}
