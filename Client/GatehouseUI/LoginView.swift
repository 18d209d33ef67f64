#if canImport(SwiftUI)
    import Combine
    import Foundation
    public import GatehouseClient
    public import SwiftUI

    /// The sign-in screen: with Apple, or with an e-mail address or phone number and a password.
    ///
    /// It supports dark mode, Dynamic Type and right-to-left languages. The accessibility identifiers of its elements
    /// begin with `gatehouse.login.`.
    public struct LoginView: View {
        /// The credentials that a login screen offers.
        public struct Options: Sendable {
            /// Requires an app identifier or Services ID that is registered for Sign in with Apple.
            public var offersApple: Bool
            public var offersPassword: Bool
            /// Adds a button that signs in with a six-digit code.
            public var offersCode: Bool
            /// Adds a button that signs up with a password.
            public var offersRegistration: Bool
            /// Shorter passwords are not sent. The server decides about new passwords.
            public var minimumPasswordLength: Int
            /// The view above the header.
            private(set) var logo: (@MainActor @Sendable () -> AnyView)?
            /// The view in place of the title.
            private(set) var header: (@MainActor @Sendable () -> AnyView)?

            public init(
                offersApple: Bool = true, offersPassword: Bool = true, offersCode: Bool = false,
                offersRegistration: Bool = false, minimumPasswordLength: Int = 8
            ) {
                self.offersApple = offersApple
                self.offersPassword = offersPassword
                self.offersCode = offersCode
                self.offersRegistration = offersRegistration
                self.minimumPasswordLength = minimumPasswordLength
            }

            /// Shows a logo at the top of the screen.
            ///
            /// ```swift
            /// LoginView.Options().logo { Image("Logo") }
            /// ```
            public func logo<Logo: View>(@ViewBuilder _ logo: @escaping @MainActor @Sendable () -> Logo) -> Self {
                var options = self
                options.logo = { AnyView(logo()) }
                return options
            }

            /// Replaces the title "Sign in". VoiceOver users need one element with the trait `isHeader` in it.
            public func header<Header: View>(
                @ViewBuilder _ header: @escaping @MainActor @Sendable () -> Header
            ) -> Self {
                var options = self
                options.header = { AnyView(header()) }
                return options
            }
        }

        @StateObject private var model: TaskModel<LoginForm>
        @Environment(\.locale) private var locale
        @Environment(\.gatehouseStyle) private var style
        private let options: Options
        private let client: GatehouseClient

        /// - Parameters:
        ///   - client: the client to sign in with.
        ///   - options: the offered credentials.
        ///   - reason: why the previous session ended. The screen shows it above the form until the next attempt. The
        ///     gate passes it automatically.
        public init(client: GatehouseClient, options: Options = Options(), after reason: SignOutReason? = nil) {
            self.options = options
            self.client = client
            _model = StateObject(
                wrappedValue: TaskModel(
                    client: client, minimumPasswordLength: options.minimumPasswordLength, after: reason))
        }

        public var body: some View {
            let texts = Texts(locale)
            ScrollView {
                VStack(spacing: style.spacing) {
                    LoginHeader(options: options, texts: texts)
                    if let notice = model.form.notice {
                        Text(verbatim: texts[notice])
                            .multilineTextAlignment(.center)
                            .accessibilityIdentifier("gatehouse.login.notice")
                            .task { Announcement.post(texts[notice]) }
                    }
                    if options.offersApple {
                        AppleButton { model.begin(.apple($0)) }
                            .disabled(model.form.task.isWorking)
                    }
                    if options.offersApple && options.offersPassword {
                        NoteText(text: texts[.or])
                    }
                    if options.offersPassword { LoginFields(model: model, texts: texts) }
                    if options.offersCode || options.offersRegistration {
                        SignInAlternatives(client: client, options: options, texts: texts)
                            .disabled(model.form.task.isWorking)
                    }
                    if model.form.task.isWorking {
                        ProgressView()
                            .accessibilityLabel(Text(verbatim: texts[.signingIn]))
                            .accessibilityIdentifier("gatehouse.login.progress")
                    }
                }
                .padding()
                .frame(maxWidth: style.maximumWidth)
                .frame(maxWidth: .infinity)
            }
            .showsFailure(of: model, texts, title: model.form.failureTitle, identifiers: "gatehouse.login")
            .alert(texts[.resetRequested], isPresented: $model.showsResetRequested) {
                Button(texts[.ok], role: .cancel) { model.form.task.dismiss() }
                    .accessibilityIdentifier("gatehouse.login.resetDismiss")
            } message: {
                Text(verbatim: texts[.resetMessage])
            }
            .styledScreen(texts)
        }
    }

    /// The app's logo, and the app's header or the title.
    struct LoginHeader: View {
        let options: LoginView.Options
        let texts: Texts
        @Environment(\.gatehouseStyle) private var style

        var body: some View {
            if let logo = options.logo { logo() }
            if let header = options.header {
                header()
            } else {
                Text(verbatim: texts[.loginTitle])
                    .font(style.titleFont)
                    .accessibilityAddTraits(.isHeader)
            }
        }
    }

    /// The fields for identifier and password, and the two buttons.
    struct LoginFields: View {
        private enum Field: Hashable {
            case identifier, password
        }

        @ObservedObject private var model: TaskModel<LoginForm>
        private let texts: Texts
        @FocusState private var focus: Field?
        @Environment(\.gatehouseStyle) private var style

        init(model: TaskModel<LoginForm>, texts: Texts) {
            self.model = model
            self.texts = texts
        }

        var body: some View {
            VStack(alignment: .leading, spacing: style.fieldSpacing) {
                TextField(texts[.identifier], text: $model.form.identifier)
                    .identifierField()
                    .submitLabel(.next)
                    .focused($focus, equals: .identifier)
                    .onSubmit { focus = .password }
                    .accessibilityLabel(Text(verbatim: texts[.identifier]))
                    .accessibilityHint(Text(verbatim: faults(of: .identifier)))
                    .accessibilityIdentifier("gatehouse.login.identifier")
                fault(.identifierMissing)
                SecureField(texts[.password], text: $model.password)
                    .passwordField()
                    .submitLabel(.go)
                    .focused($focus, equals: .password)
                    .onSubmit { begin(model.form.submit()) }
                    .accessibilityLabel(Text(verbatim: texts[.password]))
                    .accessibilityHint(Text(verbatim: faults(of: .password)))
                    .accessibilityIdentifier("gatehouse.login.password")
                fault(.passwordMissing)
                fault(.passwordTooShort)
                Button {
                    begin(model.form.submit())
                } label: {
                    Text(verbatim: texts[.signIn])
                        .frame(maxWidth: .infinity)
                }
                .buttonStyle(.borderedProminent)
                .controlSize(.large)
                .accessibilityIdentifier("gatehouse.login.submit")
                Button(texts[.forgotPassword]) { begin(model.form.requestReset()) }
                    .frame(maxWidth: .infinity)
                    .accessibilityIdentifier("gatehouse.login.forgot")
            }
            .textFieldStyle(.roundedBorder)
            .disabled(model.form.task.isWorking)
        }

        @ViewBuilder
        private func fault(_ fault: LoginForm.Fault) -> some View {
            if model.form.faults.contains(fault) {
                FaultText(text: text(of: fault))
                    .accessibilityIdentifier("gatehouse.login.fault.\(fault.rawValue)")
            }
        }

        /// - Parameter action: `nil` if input is invalid. Then the focus moves to the first invalid field, and all
        ///   errors are announced.
        private func begin(_ action: LoginForm.Action?) {
            model.begin(action)
            let faults = LoginForm.Fault.allCases.filter(model.form.faults.contains)
            guard let first = faults.first else { return }
            focus = Self.field(of: first)
            Announcement.post(faults.map(text(of:)).joined(separator: " "))
        }

        /// The accessibility hint of an invalid field. Moving the focus there may interrupt the announcement, so
        /// VoiceOver reads the hint too.
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

    extension TaskModel where Form == LoginForm {
        convenience init(client: GatehouseClient, minimumPasswordLength: Int, after reason: SignOutReason?) {
            let form = LoginForm(minimumPasswordLength: minimumPasswordLength, after: reason)
            self.init(form) { action throws(GatehouseError) in
                switch action {
                case .signIn(let identifier, let password):
                    _ = try await client.signIn(identifier: identifier, password: password.value)
                case .apple(let outcome):
                    try await client.signIn(withApple: outcome)
                case .requestReset(let identifier):
                    try await client.requestPasswordReset(identifier: identifier)
                }
            }
        }

        var password: String {
            get { form.password.value }
            set { form.password = Redacted(newValue) }
        }

        /// A binding of the alert. Its setter does nothing: the alert's button changes the form.
        var showsResetRequested: Bool {
            get { form.isResetRequested }
            set {}
        }
    }
#endif
