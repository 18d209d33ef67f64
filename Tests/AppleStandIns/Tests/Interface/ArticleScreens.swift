import Foundation
import GatehouseClient
import GatehouseUI
import Observation
import SwiftUI
import UIKit

// The app's own screens as the articles "Screens" and "Storage and biometrics" show them.

struct SignInScreen: View {
    let client: GatehouseClient
    let reason: SignOutReason?
    @Environment(\.gatehouseStyle) private var style
    @State private var identifier = ""
    @State private var password = ""
    @State private var isWorking = false
    @State private var error: GatehouseError?
    @State private var isRegistering = false

    var body: some View {
        Form {
            // Why the last session ended; nil after the user's own sign-out.
            if let text = reason?.message() { Text(text) }
            TextField("E-mail or phone", text: $identifier)
                .textContentType(.username)
                .textInputAutocapitalization(.never)
            SecureField("Password", text: $password)
                .textContentType(.password)
            if let error { Text(error.localizedDescription).foregroundStyle(style.error) }
            Button("Sign In") {
                run { () async throws(GatehouseError) in
                    try await client.signIn(identifier: identifier, password: password)
                }
            }
            Button("Sign in with Apple") {
                run { () async throws(GatehouseError) in try await client.signInWithApple() }
            }
            Button("Create an account") { isRegistering = true }
        }
        .disabled(isWorking)
        .sheet(isPresented: $isRegistering) { Closable { RegisterView(client: client) } }
    }

    private func run(_ signIn: @escaping @MainActor () async throws(GatehouseError) -> GatehouseClient.User) {
        isWorking = true
        error = nil
        Task {
            do throws(GatehouseError) { _ = try await signIn() } catch {
                // The user has closed Apple's dialog.
                if error.kind != .cancelled { self.error = error }
            }
            isWorking = false
        }
    }
}

struct Closable<Content: View>: View {
    @ViewBuilder let content: Content
    @Environment(\.dismiss) private var dismiss

    var body: some View {
        NavigationStack {
            content.toolbar {
                ToolbarItem(placement: .cancellationAction) { Button("Close") { dismiss() } }
            }
        }
    }
}

struct SignUpScreen: View {
    let client: GatehouseClient
    @Environment(\.gatehouseStyle) private var style
    @State private var identifier = ""
    @State private var password = ""
    @State private var error: GatehouseError?

    var body: some View {
        Form {
            TextField("E-mail or phone", text: $identifier)
                .textContentType(.username)
                .foregroundStyle(isInvalid("identifier") ? style.error : .primary)
            SecureField("Password", text: $password)
                .textContentType(.newPassword)  // the system suggests a strong one
                .foregroundStyle(isInvalid("password") ? style.error : .primary)
            if let error { Text(error.localizedDescription).foregroundStyle(style.error) }
            Button("Sign Up") {
                Task {
                    do throws(GatehouseError) {
                        try await client.register(identifier: identifier, password: password)
                    } catch {
                        self.error = error
                    }
                }
            }
        }
    }

    private func isInvalid(_ field: String) -> Bool {
        error?.fields.contains { $0.field == field } == true
    }
}

struct CodeScreen: View {
    let client: GatehouseClient
    let link: URL?  // from onOpenURL
    @State private var identifier = ""
    @State private var code = ""
    @State private var asked: CodeResponse?
    @State private var isWaiting = false
    @State private var error: GatehouseError?

    var body: some View {
        Form {
            TextField("E-mail or phone", text: $identifier)
            Button("Send a code") {
                run { () async throws(GatehouseError) in
                    asked = try await client.requestCode(identifier: identifier)
                }
            }
            .disabled(isWaiting)
            TextField("Code", text: $code).textContentType(.oneTimeCode)
            Button("Sign In") {
                run { () async throws(GatehouseError) in
                    try await client.signIn(identifier: identifier, code: code, asked: asked)
                }
            }
            if let error { Text(error.localizedDescription) }
        }
        .task(id: asked) {
            guard let asked else { return }
            isWaiting = true
            try? await Task.sleep(for: .seconds(asked.resendAfter))
            isWaiting = false
        }
        .task(id: link) {
            guard let asked, let token = link?.fragment else { return }
            run { () async throws(GatehouseError) in
                try await client.signIn(linkToken: token, asked: asked)
            }
        }
    }

    private func run(_ action: @escaping @MainActor () async throws(GatehouseError) -> Void) {
        error = nil
        Task {
            do throws(GatehouseError) { try await action() } catch { self.error = error }
        }
    }
}

struct UnlockScreen: View {
    @ObservedObject var model: UnlockModel

    var body: some View {
        VStack {
            if let message = model.message { Text(message) }
            Button("Unlock") { Task { await model.unlock() } }
                .disabled(model.isUnlocking)
            Button("Sign in instead") { model.signsIn = true }  // shows your sign-in screen
        }
    }
}

struct SplashScreen: View {
    @ObservedObject var session: AppSession

    var body: some View {
        VStack {
            Image("Logo")
            if let error = session.launchError {
                Text(error.localizedDescription)
                Button("Try Again") { Task { await session.start() } }
            }
        }
    }
}

struct ShopView: View {
    var body: some View { Text("Orders") }
}

@MainActor
func ownScreens(_ session: AppSession) -> some View {
    ShopView().gatehouse(session) { session, reason in
        SignInScreen(client: session.client, reason: reason)
    } unlock: { model in
        UnlockScreen(model: model)
    } launch: { session in
        SplashScreen(session: session)
    }
}

@MainActor
func styled(_ session: AppSession) -> some View {
    ShopView()
        .gatehouse(session)
        .gatehouseStyle(
            GatehouseStyle(
                tint: .orange, error: Color("Fault"),
                titleFont: .custom("Lora", size: 34, relativeTo: .largeTitle), spacing: 24
            )
            .background { Image("Paper").resizable() })
}

@Observable
final class Theme {}

@MainActor
func themed(_ session: AppSession, _ theme: Theme) -> some View {
    ShopView().gatehouse(session) { session, reason in
        SignInScreen(client: session.client, reason: reason).environment(theme)
    } unlock: { model in
        UnlockScreen(model: model).environment(theme)
    }
}

struct LinkToken: Identifiable { let id: String }

struct LinkedShop: View {
    let client: GatehouseClient
    let session: AppSession
    let style: GatehouseStyle
    @State private var codeLink: URL?
    @State private var resetToken: LinkToken?
    @State private var undoToken: LinkToken?

    var body: some View {
        ShopView()
            .gatehouse(session)
            .codeLink(codeLink)
            .onOpenURL { url in
                guard let token = url.fragment else { return }
                switch url.lastPathComponent {
                case "code": codeLink = url  // IDENTITY_CODE_LINK_URL
                case "reset": resetToken = LinkToken(id: token)  // IDENTITY_RESET_LINK_URL
                case "undo": undoToken = LinkToken(id: token)  // IDENTITY_UNDO_LINK_URL
                default: break
                }
            }
            .sheet(item: $resetToken) { token in
                Closable { ResetPasswordView(client: client, token: token.id) }
            }
            .sheet(item: $undoToken) { token in
                Closable { UndoIdentifierChangeView(client: client, token: token.id) }
            }
            .gatehouseStyle(style)
    }
}

struct LockSwitch: View {
    @ObservedObject var session: AppSession
    @State private var error: GatehouseError?

    var body: some View {
        Toggle("Face ID", isOn: Binding(get: { session.unlockPolicy != .notRequired }, set: change))
        if let error { Text(error.localizedDescription) }
    }

    private func change(isOn: Bool) {
        Task {
            do throws(GatehouseError) {
                try await session.setUnlockPolicy(isOn ? .biometricsOrPasscode : .notRequired)
            } catch {
                // The user has closed the dialog.
                if error.kind != .locked { self.error = error }
            }
        }
    }
}
