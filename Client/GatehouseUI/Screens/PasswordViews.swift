#if canImport(SwiftUI)
    import Foundation
    public import GatehouseClient
    public import SwiftUI

    /// Signs up with an e-mail address or phone number and a password.
    public struct RegisterView: View {
        private let client: GatehouseClient
        private let minimumPasswordLength: Int

        /// - Parameter minimumPasswordLength: shorter passwords are not sent. The server may require more.
        public init(client: GatehouseClient, minimumPasswordLength: Int = 8) {
            self.client = client
            self.minimumPasswordLength = minimumPasswordLength
        }

        public var body: some View {
            FieldFormView(
                FieldForm([.identifier, .newPassword], minimumPasswordLength: minimumPasswordLength),
                labels: .init(title: .registerTitle, submit: .register), submit: client.register)
        }
    }

    /// Requests a message with a link for a new password.
    public struct ForgottenPasswordView: View {
        private let client: GatehouseClient

        public init(client: GatehouseClient) { self.client = client }

        public var body: some View {
            FieldFormView(
                FieldForm([.identifier]),
                labels: .init(title: .forgottenTitle, submit: .sendMessage, success: .resetMessage),
                submit: client.requestPasswordReset)
        }
    }

    /// Sets a new password with the link of a message. All the user's sessions end.
    ///
    /// ```swift
    /// .onOpenURL { url in token = url.fragment }
    /// ```
    public struct ResetPasswordView: View {
        private let client: GatehouseClient
        private let token: String
        private let minimumPasswordLength: Int

        /// - Parameters:
        ///   - token: the part of the link after `#`.
        ///   - minimumPasswordLength: shorter passwords are not sent. The server may require more.
        public init(client: GatehouseClient, token: String, minimumPasswordLength: Int = 8) {
            self.client = client
            self.token = token
            self.minimumPasswordLength = minimumPasswordLength
        }

        public var body: some View {
            FieldFormView(
                FieldForm([.newPassword], minimumPasswordLength: minimumPasswordLength),
                labels: .init(title: .resetTitle, submit: .savePassword, success: .passwordSaved)
            ) { entry throws(GatehouseError) in
                try await client.resetPassword(token: token, newPassword: entry[.newPassword])
            }
            // Another link needs a new form.
            .id(token)
        }
    }

    /// Undoes a change of an e-mail address or phone number with the link that was sent to the former one. All the
    /// user's sessions end.
    public struct UndoIdentifierChangeView: View {
        private let client: GatehouseClient
        private let token: String

        /// - Parameter token: the part of the link after `#`.
        public init(client: GatehouseClient, token: String) {
            self.client = client
            self.token = token
        }

        public var body: some View {
            FieldFormView(
                FieldForm([]),
                labels: .init(title: .undoTitle, submit: .undo, message: .undoMessage, success: .undone)
            ) { _ throws(GatehouseError) in
                try await client.undoIdentifierChange(token: token)
            }
            .id(token)
        }
    }

    extension GatehouseClient {
        func register(_ entry: FieldForm.Entry) async throws(GatehouseError) {
            _ = try await register(identifier: entry[.identifier], password: entry[.newPassword])
        }

        func requestPasswordReset(_ entry: FieldForm.Entry) async throws(GatehouseError) {
            try await requestPasswordReset(identifier: entry[.identifier])
        }
    }
#endif
