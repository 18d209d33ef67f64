#if canImport(SwiftUI)
    import Combine
    import GatehouseClient

    /// Does what ``LoginForm`` says, and tells it what came of it.
    @MainActor
    final class LoginModel: ObservableObject {
        @Published private(set) var form: LoginForm
        private let client: GatehouseClient

        init(client: GatehouseClient, minimumPasswordLength: Int, after reason: SignOutReason?) {
            self.client = client
            form = LoginForm(minimumPasswordLength: minimumPasswordLength, after: reason)
        }

        // What fields and alerts are bound to. Closing an alert is left to its buttons: each is an event of the form.

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
            // It outlives the screen: whoever has pressed the button is signed in, wherever they go meanwhile.
            Task { send(await outcome(of: action)) }
        }

        private func outcome(of action: LoginForm.Action) async -> LoginForm.Event {
            do throws(GatehouseError) {
                switch action {
                case .signIn(let identifier, let password):
                    try await client.signIn(identifier: identifier, password: password.value)
                case .signInWithApple(let credential):
                    try await client.signInWithApple(
                        identityToken: credential.identityToken.value,
                        authorizationCode: credential.authorizationCode?.value, nonce: credential.nonce,
                        fullName: credential.fullName)
                case .requestReset(let identifier):
                    try await client.forgotPassword(identifier: identifier)
                }
                return .succeeded
            } catch {
                return .failed(error)
            }
        }
    }
#endif
