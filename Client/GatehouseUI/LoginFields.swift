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
                    .accessibilityHint(Text(verbatim: faults(of: .identifier)))
                    .accessibilityIdentifier("gatehouse.login.identifier")
                fault(.identifierMissing)
                SecureField(texts[.password], text: $model.password)
                    .textContentType(.password)
                    .submitLabel(.go)
                    .focused($focus, equals: .password)
                    .onSubmit { send(.submit) }
                    .accessibilityLabel(Text(verbatim: texts[.password]))
                    .accessibilityHint(Text(verbatim: faults(of: .password)))
                    .accessibilityIdentifier("gatehouse.login.password")
                fault(.passwordMissing)
                fault(.passwordTooShort)
                Button {
                    send(.submit)
                } label: {
                    Text(verbatim: texts[.signIn])
                        .frame(maxWidth: .infinity)
                }
                .buttonStyle(.borderedProminent)
                .controlSize(.large)
                .accessibilityIdentifier("gatehouse.login.submit")
                Button(texts[.forgotPassword]) { send(.forgotPassword) }
                    .frame(maxWidth: .infinity)
                    .accessibilityIdentifier("gatehouse.login.forgot")
            }
            .textFieldStyle(.roundedBorder)
            .disabled(model.form.isWorking)
        }

        @ViewBuilder
        private func fault(_ fault: LoginForm.Fault) -> some View {
            if model.form.faults.contains(fault) {
                Text(verbatim: text(of: fault))
                    .font(.footnote)
                    .foregroundStyle(.red)
                    .accessibilityIdentifier("gatehouse.login.fault.\(fault.rawValue)")
            }
        }

        /// Whoever is found fault with is led to the first field that has one, and hears of all of them.
        private func send(_ event: LoginForm.Event) {
            model.send(event)
            let faults = LoginForm.Fault.allCases.filter(model.form.faults.contains)
            guard let first = faults.first else { return }
            focus = Self.field(of: first)
            Announcement.post(faults.map(text(of:)).joined(separator: " "))
        }

        /// Read with a field that has been found fault with: moving to it may cut an announcement short.
        private func faults(of field: Field) -> String {
            LoginForm.Fault.allCases.filter { model.form.faults.contains($0) && Self.field(of: $0) == field }
                .map(text(of:)).joined(separator: " ")
        }

        private func text(of fault: LoginForm.Fault) -> String {
            switch fault {
            case .identifierMissing: texts[.identifierMissing]
            case .passwordMissing: texts[.passwordMissing]
            case .passwordTooShort:
                InterfaceText.passwordTooShort.text(in: texts.language, number: model.form.minimumPasswordLength)
            }
        }

        private static func field(of fault: LoginForm.Fault) -> Field {
            switch fault {
            case .identifierMissing: .identifier
            case .passwordMissing, .passwordTooShort: .password
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
