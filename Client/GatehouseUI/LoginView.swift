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
            /// The color of buttons and of the cursor; `nil` for the app's accent color.
            public var tint: Color?
            /// What the screen shows above the header.
            private(set) var logo: (@MainActor @Sendable () -> AnyView)?
            /// What the screen shows in place of its title.
            private(set) var header: (@MainActor @Sendable () -> AnyView)?

            public init(
                offersApple: Bool = true, offersPassword: Bool = true, offersCode: Bool = false,
                offersRegistration: Bool = false, minimumPasswordLength: Int = 8, tint: Color? = nil
            ) {
                self.offersApple = offersApple
                self.offersPassword = offersPassword
                self.offersCode = offersCode
                self.offersRegistration = offersRegistration
                self.minimumPasswordLength = minimumPasswordLength
                self.tint = tint
            }

            /// Shows a logo at the top of the screen.
            ///
            /// ```swift
            /// LoginView.Options(tint: .orange).logo { Image("Logo") }
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

        @StateObject private var model: LoginModel
        @Environment(\.locale) private var locale
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
                wrappedValue: LoginModel(
                    client: client, minimumPasswordLength: options.minimumPasswordLength, after: reason))
        }

        public var body: some View {
            let texts = Texts(locale)
            ScrollView {
                VStack(spacing: 20) {
                    LoginHeader(options: options, texts: texts)
                    if let notice = model.form.notice {
                        Text(verbatim: texts[notice])
                            .multilineTextAlignment(.center)
                            .accessibilityIdentifier("gatehouse.login.notice")
                            .task { Announcement.post(texts[notice]) }
                    }
                    if options.offersApple {
                        AppleButton { model.send($0) }
                            .disabled(model.form.isWorking)
                    }
                    if options.offersApple && options.offersPassword {
                        Text(verbatim: texts[.or])
                            .font(.footnote)
                            .foregroundStyle(.secondary)
                    }
                    if options.offersPassword { LoginFields(model: model, texts: texts) }
                    if options.offersCode || options.offersRegistration {
                        SignInAlternatives(client: client, options: options, texts: texts)
                            .disabled(model.form.isWorking)
                    }
                    if model.form.isWorking {
                        ProgressView()
                            .accessibilityLabel(Text(verbatim: texts[.signingIn]))
                            .accessibilityIdentifier("gatehouse.login.progress")
                    }
                }
                .padding()
                .frame(maxWidth: 480)
                .frame(maxWidth: .infinity)
            }
            .background {
                LoginAlert(model: model, texts: texts)
                    .id(model.form.failures)
            }
            .alert(texts[.resetRequested], isPresented: $model.showsResetRequested) {
                Button(texts[.ok], role: .cancel) { model.send(.dismiss) }
                    .accessibilityIdentifier("gatehouse.login.resetDismiss")
            } message: {
                Text(verbatim: texts[.resetMessage])
            }
            .tint(options.tint)
            .environment(\.layoutDirection, texts.direction)
        }
    }

    /// The app's logo, and the app's header or the title.
    struct LoginHeader: View {
        let options: LoginView.Options
        let texts: Texts

        var body: some View {
            if let logo = options.logo { logo() }
            if let header = options.header {
                header()
            } else {
                Text(verbatim: texts[.loginTitle])
                    .font(.largeTitle.bold())
                    .accessibilityAddTraits(.isHeader)
            }
        }
    }

    /// Shows a failure. A second failure has another ``LoginForm/failures``, and needs another view.
    struct LoginAlert: View {
        @ObservedObject var model: LoginModel
        let texts: Texts

        var body: some View {
            Color.clear
                .alert(
                    texts[model.form.isAboutReset ? .resetFailed : .signInFailed], isPresented: $model.showsError
                ) {
                    if model.form.canTryAgain {
                        Button(texts[.tryAgain]) { model.send(.tryAgain) }
                            .accessibilityIdentifier("gatehouse.login.tryAgain")
                    }
                    Button(texts[.ok], role: .cancel) { model.send(.dismiss) }
                        .accessibilityIdentifier("gatehouse.login.dismiss")
                } message: {
                    Text(verbatim: model.form.error?.message(in: texts.language) ?? "")
                }
        }
    }

    /// The fields for identifier and password, and the two buttons.
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

        /// Handles an event. If input is invalid, moves the focus to the first invalid field and announces all errors.
        private func send(_ event: LoginForm.Event) {
            model.send(event)
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

    /// Performs the actions of ``LoginForm`` and passes it their results.
    @MainActor
    final class LoginModel: ObservableObject {
        @Published private(set) var form: LoginForm
        private let client: GatehouseClient

        init(client: GatehouseClient, minimumPasswordLength: Int, after reason: SignOutReason?) {
            self.client = client
            form = LoginForm(minimumPasswordLength: minimumPasswordLength, after: reason)
        }

        // Bindings of the fields and alerts. The setters of the alerts do nothing: their buttons send events to the
        // form.

        var identifier: String {
            get { form.identifier }
            set { send(.identifierChanged(newValue)) }
        }

        var password: String {
            get { form.password.value }
            set { send(.passwordChanged(Redacted(newValue))) }
        }

        var showsError: Bool {
            get { form.error != nil }
            set {}
        }

        var showsResetRequested: Bool {
            get { form.phase == .resetRequested }
            set {}
        }

        func send(_ event: LoginForm.Event) {
            guard let action = form.handle(event) else { return }
            // The task outlives the screen, so the sign-in completes even if the user leaves the screen.
            Task { send(await outcome(of: action)) }
        }

        private func outcome(of action: LoginForm.Action) async -> LoginForm.Event {
            do throws(GatehouseError) {
                switch action {
                case .signIn(let identifier, let password):
                    try await client.signIn(identifier: identifier, password: password.value)
                case .signInWithApple(let credential):
                    try await client.signIn(with: credential)
                case .requestReset(let identifier):
                    try await client.requestPasswordReset(identifier: identifier)
                }
                return .succeeded
            } catch {
                return .failed(error)
            }
        }
    }
#endif
