#if canImport(SwiftUI)
    import Combine
    public import Foundation
    public import GatehouseClient
    public import SwiftUI

    /// Requests a six-digit code by e-mail or text message, and verifies it.
    ///
    /// ```swift
    /// CodeView(client: client)                                    // signs in
    /// CodeView(client: client, verifying: "ada@example.com")      // verifies the signed-in user's address
    /// ```
    ///
    /// If the message has a link (`IDENTITY_CODE_LINK_URL`), pass it on with ``codeLink(_:)``.
    ///
    /// The accessibility identifiers of its elements begin with `gatehouse.code.`.
    public struct CodeView: View {
        private enum Field: Hashable {
            case identifier, code
        }

        @StateObject private var model: TaskModel<CodeForm>
        @Environment(\.locale) private var locale
        @Environment(\.codeLink) private var link
        @FocusState private var focus: Field?
        private let title: InterfaceText
        private let kind: IdentifierKind?
        private let clock: any SessionClock
        private let done: @MainActor () -> Void

        /// Signs in with a code. A new user is registered.
        public init(client: GatehouseClient) {
            self.init(client: client, title: .codeTitle, purpose: .signIn) { entry throws(GatehouseError) in
                _ = try await client.signIn(
                    identifier: entry.identifier, code: entry.code.value, asked: entry.asked)
            }
        }

        /// Verifies the signed-in user's e-mail address or phone number.
        ///
        /// - Parameter done: called after the verification, for example to close the screen.
        public init(
            client: GatehouseClient, verifying identifier: String, done: @escaping @MainActor () -> Void = {}
        ) {
            self.init(
                client: client, title: .verifyTitle, purpose: .verify, identifier: identifier,
                verify: { entry throws(GatehouseError) in
                    _ = try await client.verify(
                        identifier: entry.identifier, code: entry.code.value, asked: entry.asked)
                }, done: done)
        }

        /// - Parameters:
        ///   - identifier: the recipient of the code. `nil` if the user enters it.
        ///   - kind: the kind of the identifier that the user enters. `nil` if both are possible.
        ///   - verify: uses the code.
        init(
            client: GatehouseClient, title: InterfaceText, purpose: CodePurpose, identifier: String? = nil,
            kind: IdentifierKind? = nil,
            verify: @escaping @MainActor (CodeForm.Entry) async throws(GatehouseError) -> Void,
            done: @escaping @MainActor () -> Void = {}
        ) {
            self.title = title
            self.kind = kind
            self.done = done
            clock = client.configuration.clock
            _model = StateObject(
                wrappedValue: TaskModel(
                    client: client, purpose: purpose, identifier: identifier, verify: verify))
        }

        public var body: some View {
            let texts = Texts(locale)
            FormScreen(title: texts[title], isWorking: model.form.task.isWorking, texts: texts) {
                if model.form.asked != nil {
                    code(texts)
                } else {
                    identifier(texts)
                }
            }
            .showsTask(of: model, texts)
            .task(id: link) { model.open(link) }
            .task(id: model.form.resendsFrom) { await model.allowResend(with: clock) }
            .task(id: model.isVerified) {
                if model.isVerified { done() }
            }
        }

        @ViewBuilder
        private func identifier(_ texts: Texts) -> some View {
            if model.form.isIdentifierFixed {
                recipient(texts[.codeRecipient])
            } else {
                let label = texts[kind?.label ?? .identifier]
                TextField(label, text: $model.form.identifier)
                    .identifierField(kind)
                    .submitLabel(.go)
                    .focused($focus, equals: .identifier)
                    .onSubmit { submit(texts) }
                    .accessibilityLabel(Text(verbatim: label))
                    .accessibilityHint(Text(verbatim: hint(texts)))
                    .accessibilityIdentifier("gatehouse.code.identifier")
            }
            fault(texts)
            SubmitButton(title: texts[.sendCode]) { submit(texts) }
                .accessibilityIdentifier("gatehouse.code.send")
        }

        @ViewBuilder
        private func code(_ texts: Texts) -> some View {
            recipient(texts[.codeSent])
            TextField(texts[.code], text: $model.code)
                .codeField()
                .focused($focus, equals: .code)
                .onSubmit { submit(texts) }
                .accessibilityLabel(Text(verbatim: texts[.code]))
                .accessibilityHint(Text(verbatim: hint(texts)))
                .accessibilityIdentifier("gatehouse.code.code")
                .task { focus = .code }
            fault(texts)
            SubmitButton(title: texts[.continueButton]) { submit(texts) }
                .accessibilityIdentifier("gatehouse.code.submit")
            Button(texts[.resendCode]) { model.begin(model.form.resend()) }
                .disabled(!model.form.canResend)
                .frame(maxWidth: .infinity)
                .accessibilityIdentifier("gatehouse.code.resend")
            if !model.form.isIdentifierFixed {
                Button(texts[.otherIdentifier]) { model.form.changeIdentifier() }
                    .frame(maxWidth: .infinity)
                    .accessibilityIdentifier("gatehouse.code.otherIdentifier")
            }
        }

        @ViewBuilder
        private func recipient(_ label: String) -> some View {
            Text(verbatim: label)
            // Addresses and numbers are written from left to right in every language.
            Text(verbatim: model.form.identifier)
                .environment(\.layoutDirection, .leftToRight)
        }

        @ViewBuilder
        private func fault(_ texts: Texts) -> some View {
            if let fault = model.form.fault {
                FaultText(text: texts[fault.text])
                    .accessibilityIdentifier("gatehouse.code.fault")
            }
        }

        /// Moving the focus to a field may interrupt the announcement, so VoiceOver reads the hint too.
        private func hint(_ texts: Texts) -> String { model.form.fault.map { texts[$0.text] } ?? "" }

        private func submit(_ texts: Texts) {
            model.begin(model.form.submit())
            guard let fault = model.form.fault else { return }
            focus = fault == .identifierMissing ? .identifier : .code
            Announcement.post(texts[fault.text])
        }
    }

    extension EnvironmentValues {
        private struct CodeLinkKey: EnvironmentKey {
            static let defaultValue: URL? = nil
        }

        var codeLink: URL? {
            get { self[CodeLinkKey.self] }
            set { self[CodeLinkKey.self] = newValue }
        }
    }

    extension View {
        /// Passes the link of a message with a sign-in code to the ``CodeView`` that has requested it, also in the
        /// gate's sign-in screen.
        ///
        /// ```swift
        /// ShopView().gatehouse(session).codeLink(link).onOpenURL { link = $0 }
        /// ```
        ///
        /// The link signs in only on the device that requested the message, while the screen is open. Otherwise the
        /// user enters the digits.
        @MainActor
        public func codeLink(_ link: URL?) -> some View { environment(\.codeLink, link) }
    }

    extension IdentifierKind {
        var label: InterfaceText { self == .phone ? .phone : .email }
    }

    extension CodeForm.Fault {
        var text: InterfaceText {
            switch self {
            case .identifierMissing: .identifierMissing
            case .codeIncomplete: .codeIncomplete
            }
        }
    }

    extension TaskModel where Form == CodeForm {
        convenience init(
            client: GatehouseClient, purpose: CodePurpose, identifier: String?,
            verify: @escaping @MainActor (CodeForm.Entry) async throws(GatehouseError) -> Void
        ) {
            self.init(CodeForm(identifier: identifier, acceptsLink: purpose == .signIn)) {
                action throws(GatehouseError) in
                switch action {
                case .request(let identifier):
                    let asked = try await client.requestCode(identifier: identifier, purpose: purpose)
                    return .sent(asked, at: client.configuration.clock.monotonic)
                case .verify(let entry):
                    try await verify(entry)
                    return .verified
                case .open(let token, let asked):
                    _ = try await client.signIn(linkToken: token.value, asked: asked)
                    return .verified
                }
            }
        }

        /// Uses the link in the message that this form has requested.
        func open(_ link: URL?) {
            if let token = link?.fragment { begin(form.open(linkToken: token)) }
        }

        var code: String {
            get { form.code.value }
            set { form.code = Redacted(newValue) }
        }

        var isVerified: Bool {
            switch form.task {
            case .done(.verify), .done(.open): true
            default: false
            }
        }

        /// Waits until another code may be requested.
        func allowResend(with clock: any SessionClock) async {
            guard let time = form.resendsFrom else { return }
            // A screen that has disappeared cancels the wait.
            try? await clock.sleep(for: max(.zero, time - clock.monotonic))
            form.allowResend(at: clock.monotonic)
        }
    }
#endif
