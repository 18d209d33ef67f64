#if canImport(SwiftUI)
    import Foundation
    import GatehouseClient
    import SwiftUI

    #if canImport(UIKit)
        import UIKit
    #endif

    /// E-mail address or phone number, password, and the two buttons that send them.
    struct LoginFields: View {
        private enum Field: Hashable {
            case identifier, password
        }

        @ObservedObject private var model: LoginModel
        private let texts: Texts
        @FocusState private var focus: Field?

        init(model: LoginModel, texts: Texts) {
            self.model = model
            self.texts = texts
        }

        var body: some View {
            VStack(alignment: .leading, spacing: 12) {
                TextField(texts[.identifier], text: $model.identifier)
                    .identifierKeyboard()
                    .textContentType(.username)
                    .autocorrectionDisabled()
                    .submitLabel(.next)
                    .focused($focus, equals: .identifier)
                    .onSubmit { focus = .password }
                    .accessibilityLabel(Text(verbatim: texts[.identifier]))
                    .accessibilityIdentifier("gatehouse.login.identifier")
                fault(.identifierMissing, texts[.identifierMissing])
                SecureField(texts[.password], text: $model.password)
                    .textContentType(.password)
                    .submitLabel(.go)
                    .focused($focus, equals: .password)
                    .onSubmit { model.send(.submit) }
                    .accessibilityLabel(Text(verbatim: texts[.password]))
                    .accessibilityIdentifier("gatehouse.login.password")
                fault(.passwordMissing, texts[.passwordMissing])
                fault(
                    .passwordTooShort,
                    InterfaceText.passwordTooShort.text(
                        in: texts.language, number: model.form.minimumPasswordLength))
                Button {
                    model.send(.submit)
                } label: {
                    Text(verbatim: texts[.signIn])
                        .frame(maxWidth: .infinity)
                }
                .buttonStyle(.borderedProminent)
                .controlSize(.large)
                .accessibilityIdentifier("gatehouse.login.submit")
                Button(texts[.forgotPassword]) { model.send(.forgotPassword) }
                    .frame(maxWidth: .infinity)
                    .accessibilityIdentifier("gatehouse.login.forgot")
            }
            .textFieldStyle(.roundedBorder)
            .disabled(model.form.isWorking)
        }

        @ViewBuilder
        private func fault(_ fault: LoginForm.Fault, _ text: String) -> some View {
            if model.form.faults.contains(fault) {
                Text(verbatim: text)
                    .font(.footnote)
                    .foregroundStyle(.red)
                    .accessibilityIdentifier("gatehouse.login.fault")
            }
        }
    }

    extension View {
        /// The keyboard for addresses; on a Mac there is one for everything.
        @MainActor
        fileprivate func identifierKeyboard() -> some View {
            #if canImport(UIKit)
                keyboardType(.emailAddress).textInputAutocapitalization(.never)
            #else
                self
            #endif
        }
    }
#endif
