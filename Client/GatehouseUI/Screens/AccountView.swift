#if canImport(SwiftUI)
    import Combine
    import Foundation
    import GatehouseClient
    public import SwiftUI

    /// The signed-in user's account: e-mail address and phone number, Apple account, password, devices, sign-out and
    /// deletion of the account.
    ///
    /// ```swift
    /// AccountView(session: session) {
    ///     Section { Toggle("Newsletter", isOn: $newsletter) }
    /// }
    /// ```
    ///
    /// The screen has its own navigation stack.
    public struct AccountView<Extra: View>: View {
        @ObservedObject private var session: AppSession
        @StateObject private var model: TaskModel<ButtonForm<AccountAction>>
        @Environment(\.locale) private var locale
        /// The action that waits for the user's confirmation.
        @State private var unconfirmed: AccountAction?
        private let offersApple: Bool
        private let extra: Extra

        /// - Parameters:
        ///   - offersApple: whether an Apple account can be linked.
        ///   - extra: the app's own sections.
        public init(session: AppSession, offersApple: Bool = true, @ViewBuilder extra: () -> Extra) {
            self.session = session
            self.offersApple = offersApple
            self.extra = extra()
            _model = StateObject(wrappedValue: TaskModel(account: session.client))
        }

        public var body: some View {
            let texts = Texts(locale)
            NavigationStack {
                List {
                    if let user = session.currentUser { sections(of: user, texts) }
                }
                .navigationTitle(texts[.accountTitle])
                .task { _ = try? await client.me() }
                // The stack hides what is behind itself.
                .styledScreen(texts)
            }
            .showsTask(of: model, texts)
            .confirmationDialog(
                texts[unconfirmed == .delete ? .deleteTitle : .removeTitle], isPresented: isConfirming,
                titleVisibility: .visible, presenting: unconfirmed
            ) { action in
                Button(texts[action == .delete ? .deletePermanently : .remove], role: .destructive) {
                    model.begin(action)
                }
            } message: { action in
                if action == .delete { Text(verbatim: texts[.deleteMessage]) }
            }
            .reauthentication(session)
            // The bar too.
            .environment(\.layoutDirection, texts.direction)
        }

        private var client: GatehouseClient { session.client }

        private var isConfirming: Binding<Bool> {
            Binding(get: { unconfirmed != nil }, set: { if !$0 { unconfirmed = nil } })
        }

        @ViewBuilder
        private func sections(of user: GatehouseClient.User, _ texts: Texts) -> some View {
            if let name = user.displayName ?? user.email ?? user.phone {
                Text(verbatim: name)
                    .accessibilityIdentifier("gatehouse.account.name")
            }
            if user.mergeableIdentifiers?.isEmpty == false {
                Section(texts[.merge]) {
                    Text(verbatim: texts[.mergeMessage])
                    NavigationLink(texts[.merge]) {
                        Closing { close in MergeView(client: client, done: close) }
                    }
                    .accessibilityIdentifier("gatehouse.account.merge")
                }
            }
            if let offer = MergeOffer(user, kinds: client.conflictingIdentifiers(of: user)) {
                Section(texts[.merge]) {
                    Text(verbatim: texts[.conflictMessage])
                    NavigationLink(texts[.merge]) {
                        Closing { close in CodeView(client: client, mergingBy: offer.kind, done: close) }
                    }
                    .accessibilityIdentifier("gatehouse.account.conflict")
                }
            }
            identifier(.email, user.email, isVerified: user.emailVerified, texts)
            identifier(.phone, user.phone, isVerified: user.phoneVerified == true, texts)
            NoteText(text: texts[.changeHint])
            if offersApple { apple(isLinked: user.authProviders.contains(.apple), texts) }
            extra
            access(hasPassword: user.authProviders.contains(.password), texts)
        }

        private func identifier(
            _ kind: IdentifierKind, _ value: String?, isVerified: Bool, _ texts: Texts
        ) -> some View {
            Section(texts[kind.label]) {
                if let value {
                    // Addresses and numbers are written from left to right in every language.
                    Text(verbatim: value)
                        .environment(\.layoutDirection, .leftToRight)
                        .accessibilityIdentifier("gatehouse.account.\(kind)")
                    if !isVerified {
                        NoteText(text: texts[.unverified])
                        NavigationLink(texts[.verifyButton]) {
                            Closing { close in CodeView(client: client, verifying: value, done: close) }
                        }
                        .accessibilityIdentifier("gatehouse.account.\(kind).verify")
                    }
                }
                NavigationLink(texts[value == nil ? .add : .change]) {
                    Closing { close in
                        CodeView(
                            client: client, title: kind.label, purpose: .verify, kind: kind,
                            verify: { entry throws(GatehouseError) in
                                try await client.changeIdentifier(kind, with: entry)
                            }, done: close)
                    }
                }
                .accessibilityIdentifier("gatehouse.account.\(kind).change")
                if value != nil {
                    Button(texts[.remove], role: .destructive) { unconfirmed = .remove(kind) }
                        .accessibilityIdentifier("gatehouse.account.\(kind).remove")
                }
            }
        }

        private func apple(isLinked: Bool, _ texts: Texts) -> some View {
            Section(texts[.appleAccount]) {
                if isLinked {
                    Text(verbatim: texts[.appleLinked])
                    Button(texts[.remove], role: .destructive) { unconfirmed = .unlinkApple }
                        .accessibilityIdentifier("gatehouse.account.apple.remove")
                } else {
                    AppleForm(perform: client.linkApple)
                }
            }
        }

        @ViewBuilder
        private func access(hasPassword: Bool, _ texts: Texts) -> some View {
            let title: InterfaceText = hasPassword ? .changePassword : .setPassword
            Section {
                NavigationLink(texts[title]) {
                    Closing { close in
                        FieldFormView(
                            FieldForm(hasPassword ? [.password, .newPassword] : [.newPassword]),
                            labels: .init(title: title, submit: .savePassword),
                            submit: { entry throws(GatehouseError) in
                                try await client.changePassword(with: entry)
                            }, done: close)
                    }
                }
                .accessibilityIdentifier("gatehouse.account.password")
                NavigationLink(texts[.sessionsTitle]) { SessionsView(client: client) }
                    .accessibilityIdentifier("gatehouse.account.sessions")
            }
            Section {
                Button(texts[.signOut]) { model.begin(.signOut) }
                    .accessibilityIdentifier("gatehouse.account.signOut")
                Button(texts[.signOutEverywhere]) { model.begin(.signOutEverywhere) }
                    .accessibilityIdentifier("gatehouse.account.signOutEverywhere")
                Button(texts[.deleteAccount], role: .destructive) { unconfirmed = .delete }
                    .accessibilityIdentifier("gatehouse.account.delete")
            }
        }
    }

    extension AccountView where Extra == EmptyView {
        public init(session: AppSession, offersApple: Bool = true) {
            self.init(session: session, offersApple: offersApple) { EmptyView() }
        }
    }

    /// Merges the user's account with another one: with its password, its Apple account or a code.
    private struct MergeView: View {
        let client: GatehouseClient
        let done: @MainActor () -> Void
        @Environment(\.locale) private var locale

        var body: some View {
            FieldFormView(
                FieldForm([.password]),
                labels: .init(title: .merge, submit: .merge, message: .mergeMessage),
                submit: client.merge, done: done
            ) {
                AppleForm(perform: client.merge, done: done)
                NavigationLink(Texts(locale)[.reauthenticateByCode]) {
                    CodeView(client: client, title: .merge, purpose: .merge, verify: client.merge, done: done)
                }
                .accessibilityIdentifier("gatehouse.account.merge.code")
            }
        }
    }

    /// Passes its content a function that closes the screen.
    private struct Closing<Content: View>: View {
        @Environment(\.dismiss) private var dismiss
        @ViewBuilder let content: (@escaping @MainActor () -> Void) -> Content

        var body: some View { content { dismiss() } }
    }

    /// The actions of the account screen's buttons.
    enum AccountAction: Sendable, Equatable {
        case remove(IdentifierKind)
        case unlinkApple
        case signOut
        case signOutEverywhere
        case delete
    }

    extension TaskModel where Form == ButtonForm<AccountAction> {
        convenience init(account client: GatehouseClient) {
            self.init(ButtonForm()) { action throws(GatehouseError) in
                switch action {
                case .remove(let kind): try await client.removeIdentifier(kind)
                case .unlinkApple: try await client.unlink(.apple)
                case .signOut: try await client.signOut()
                case .signOutEverywhere: try await client.signOutEverywhere()
                case .delete: try await client.deleteAccount()
                }
            }
        }
    }

    extension GatehouseClient {
        func changeIdentifier(_ kind: IdentifierKind, with entry: CodeForm.Entry) async throws(GatehouseError) {
            try await changeIdentifier(kind, to: entry.identifier, code: entry.code.value, asked: entry.asked)
        }

        func linkApple(_ credential: AppleCredential) async throws(GatehouseError) { try await link(credential) }

        func merge(_ entry: FieldForm.Entry) async throws(GatehouseError) {
            try await merge(with: .password(entry[.password]))
        }

        func merge(_ credential: AppleCredential) async throws(GatehouseError) {
            try await merge(with: .apple(credential))
        }

        func merge(_ entry: CodeForm.Entry) async throws(GatehouseError) {
            try await merge(with: .code(entry.code.value, identifier: entry.identifier, asked: entry.asked))
        }

        func changePassword(with entry: FieldForm.Entry) async throws(GatehouseError) {
            let current = entry[.password]
            try await changePassword(current: current.isEmpty ? nil : current, new: entry[.newPassword])
            // The password is set even if the user's new credentials cannot be fetched now.
            if current.isEmpty { _ = try? await me() }
        }
    }
#endif
