#if canImport(SwiftUI)
    import Foundation
    public import GatehouseClient
    public import SwiftUI

    /// Signs in, with Apple or with an e-mail address or phone number and a password.
    ///
    /// It follows dark mode, the size of text that the user likes, and the direction of the language. Its parts have
    /// accessibility identifiers that begin with `gatehouse.login.`.
    public struct LoginView: View {
        /// What a login screen offers.
        public struct Options: Sendable {
            /// Where the app's bundle or services identifier is registered for Sign in with Apple.
            public var offersApple: Bool
            public var offersPassword: Bool
            /// Shorter passwords are not sent. What a new one needs the server decides.
            public var minimumPasswordLength: Int

            public init(offersApple: Bool = true, offersPassword: Bool = true, minimumPasswordLength: Int = 8) {
                self.offersApple = offersApple
                self.offersPassword = offersPassword
                self.minimumPasswordLength = minimumPasswordLength
            }
        }

        @StateObject private var model: LoginModel
        @Environment(\.locale) private var locale
        private let options: Options

        /// - Parameters:
        ///   - client: that signs in.
        ///   - options: what is offered.
        ///   - reason: what ended the session before: it is said above the form, until the next attempt. The gate gives
        ///     it by itself.
        public init(client: GatehouseClient, options: Options = Options(), after reason: SignOutReason? = nil) {
            self.options = options
            _model = StateObject(
                wrappedValue: LoginModel(
                    client: client, minimumPasswordLength: options.minimumPasswordLength, after: reason))
        }

        public var body: some View {
            let texts = Texts(locale)
            ScrollView {
                VStack(spacing: 20) {
                    Text(verbatim: texts[.loginTitle])
                        .font(.largeTitle.bold())
                        .accessibilityAddTraits(.isHeader)
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
            .alert(texts[.resetRequested], isPresented: $model.showsResetRequested) {
                Button(texts[.ok], role: .cancel) { model.send(.dismiss) }
                    .accessibilityIdentifier("gatehouse.login.resetDismiss")
            } message: {
                Text(verbatim: texts[.resetMessage])
            }
            .environment(\.layoutDirection, texts.direction)
        }
    }
#endif
