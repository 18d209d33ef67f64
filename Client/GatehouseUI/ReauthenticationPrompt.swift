#if canImport(SwiftUI)
    import Combine
    import Foundation
    import GatehouseClient
    import SwiftUI

    #if canImport(UIKit)
        import UIKit
    #else
        import AppKit
    #endif

    /// Asks the user for the credential that a call requires: the password, Apple's dialog, or a code that is sent to
    /// the user's verified address or number.
    @MainActor
    final class ReauthenticationPrompt: ObservableObject {
        enum Question: Sendable {
            case password
            case code(CodeResponse, identifier: String)
        }

        /// The question of the open alert.
        @Published private(set) var question: Question?
        @Published var answer = ""
        /// The calls that wait for the answer. One answer serves them all.
        private var waiting: [CheckedContinuation<ReauthenticationProof, any Error>] = []

        /// The setter does nothing: the alert's buttons call ``submit()`` and ``cancel()``.
        var isOpen: Bool {
            get { question != nil }
            set {}
        }

        /// Answers the client's questions from now on, unless the app has a handler of its own.
        func attach(to client: GatehouseClient) {
            client.setDefaultReauthenticationHandler { [self, weak client] user in
                guard let client else { throw CancellationError() }
                return try await proof(of: user, for: client)
            }
        }

        func proof(of user: User, for client: GatehouseClient) async throws -> ReauthenticationProof {
            if question != nil || user.authProviders.contains(.password) { return try await ask(.password) }
            #if canImport(AuthenticationServices)
                if user.authProviders.contains(.apple) { return .apple(try await AppleDialog.credential()) }
            #endif
            let phone = user.phoneVerified == true ? user.phone : nil
            guard let identifier = user.emailVerified ? user.email : phone else {
                throw GatehouseError(.reauthenticationRequired)
            }
            let code = try await client.requestCode(identifier: identifier, purpose: .stepUp)
            return try await ask(.code(code, identifier: identifier))
        }

        /// Opens the alert, unless it is open.
        private func ask(_ question: Question) async throws -> ReauthenticationProof {
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    waiting.append(continuation)
                    if self.question == nil { self.question = question }
                }
            } onCancel: {
                Task { @MainActor in cancel() }
            }
        }

        func submit() {
            switch question {
            case .password: end(.success(.password(answer)))
            case .code(let asked, let identifier):
                end(.success(.code(answer, identifier: identifier, asked: asked)))
            case nil: break
            }
        }

        func cancel() { end(.failure(CancellationError())) }

        private func end(_ result: Result<ReauthenticationProof, any Error>) {
            for continuation in waiting { continuation.resume(with: result) }
            (question, answer, waiting) = (nil, "", [])
        }
    }

    /// An app's content, and the alert of a ``ReauthenticationPrompt`` above it.
    struct ReauthenticationAlert<Content: View>: View {
        @ObservedObject var prompt: ReauthenticationPrompt
        let client: GatehouseClient
        let content: Content
        @Environment(\.locale) private var locale

        var body: some View {
            let texts = Texts(locale)
            content.alert(texts[.confirmIdentity], isPresented: $prompt.isOpen) {
                if asksForPassword {
                    SecureField(texts[.password], text: $prompt.answer)
                        .textContentType(.password)
                        .accessibilityIdentifier("gatehouse.confirm.password")
                } else {
                    TextField(texts[.code], text: $prompt.answer)
                        .textContentType(.oneTimeCode)
                        .accessibilityIdentifier("gatehouse.confirm.code")
                }
                Button(texts[.confirm]) { prompt.submit() }
                    .accessibilityIdentifier("gatehouse.confirm.submit")
                Button(texts[.cancel], role: .cancel) { prompt.cancel() }
                    .accessibilityIdentifier("gatehouse.confirm.cancel")
            } message: {
                Text(verbatim: texts[asksForPassword ? .confirmByPassword : .confirmByCode])
            }
            // Only an alert that is on the screen can answer.
            .task { prompt.attach(to: client) }
        }

        private var asksForPassword: Bool {
            if case .password = prompt.question { true } else { false }
        }
    }
#endif
