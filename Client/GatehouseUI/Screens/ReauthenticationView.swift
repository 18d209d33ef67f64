#if canImport(SwiftUI)
    import Combine
    import Foundation
    import GatehouseClient
    import SwiftUI

    /// Asks the signed-in user for a credential: the password, Sign in with Apple, or a code, as the user has them.
    struct ReauthenticationView: View {
        private let client: GatehouseClient
        private let methods: [ReauthenticationMethod]
        private let done: @MainActor () -> Void
        @Environment(\.locale) private var locale
        /// The recipient of a code, after the user has chosen to use one.
        @State private var recipient: String?

        /// - Parameter done: called after the user has authenticated.
        init(client: GatehouseClient, user: GatehouseClient.User, done: @escaping @MainActor () -> Void) {
            self.client = client
            self.done = done
            methods = ReauthenticationMethod.all(of: user)
        }

        var body: some View {
            let texts = Texts(locale)
            SheetScreen(texts: texts) {
                if let recipient = recipient ?? onlyRecipient {
                    CodeView(
                        client: client, title: .reauthenticationTitle, purpose: .stepUp, identifier: recipient,
                        verify: client.reauthenticate, done: done)
                } else if methods.contains(.password) {
                    FieldFormView(
                        FieldForm([.password]),
                        labels: .init(title: .reauthenticationTitle, submit: .continueButton),
                        submit: client.reauthenticate, done: done
                    ) { others(texts) }
                } else {
                    FormScreen(title: texts[.reauthenticationTitle], isWorking: false, texts: texts) { others(texts) }
                }
            }
        }

        /// The methods besides the password.
        @ViewBuilder
        private func others(_ texts: Texts) -> some View {
            if methods.contains(.apple) {
                AppleForm(perform: client.reauthenticate, done: done)
            }
            ForEach(recipients, id: \.self) { identifier in
                Button(texts[.reauthenticateByCode]) { recipient = identifier }
                    .frame(maxWidth: .infinity)
                    .accessibilityIdentifier("gatehouse.reauthentication.code")
                NoteText(text: identifier)
                    .frame(maxWidth: .infinity)
                    .environment(\.layoutDirection, .leftToRight)
            }
        }

        private var recipients: [String] {
            methods.compactMap { method in
                if case .code(let identifier) = method { identifier } else { nil }
            }
        }

        /// The recipient if a code to it is the user's only method.
        private var onlyRecipient: String? { methods.count == 1 ? recipients.first : nil }
    }

    extension GatehouseClient {
        func reauthenticate(_ entry: FieldForm.Entry) async throws(GatehouseError) {
            try await reauthenticate(with: .password(entry[.password]))
        }

        func reauthenticate(_ credential: AppleCredential) async throws(GatehouseError) {
            try await reauthenticate(with: .apple(credential))
        }

        func reauthenticate(_ entry: CodeForm.Entry) async throws(GatehouseError) {
            try await reauthenticate(
                with: .code(entry.code.value, identifier: entry.identifier, asked: entry.asked))
        }
    }

    /// Apple's button, and the action with its credential.
    struct AppleForm: View {
        typealias Outcome = Result<AppleCredential, GatehouseError>

        @StateObject private var model: TaskModel<ButtonForm<Outcome>>
        @Environment(\.locale) private var locale
        private let done: @MainActor () -> Void

        init(
            perform: @escaping @MainActor (AppleCredential) async throws(GatehouseError) -> Void,
            done: @escaping @MainActor () -> Void = {}
        ) {
            self.done = done
            _model = StateObject(wrappedValue: TaskModel(apple: perform))
        }

        var body: some View {
            AppleButton { model.begin($0) }
                .showsTask(of: model, Texts(locale))
                .task(id: model.form.task.isDone) {
                    if model.form.task.isDone { done() }
                }
        }
    }

    extension TaskModel where Form == ButtonForm<AppleForm.Outcome> {
        /// - Parameter perform: the action with the credential. An error of Apple's dialog is shown like the action's.
        convenience init(apple perform: @escaping @MainActor (AppleCredential) async throws(GatehouseError) -> Void) {
            self.init(ButtonForm()) { outcome throws(GatehouseError) in try await perform(try outcome.get()) }
        }
    }
#endif
