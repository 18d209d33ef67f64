import Foundation
import GatehouseClient
import GatehouseUI
import SwiftUI
import UIKit

// The app's own screens as the article "Screens" shows them.

struct SignInScreen: View {
    let client: GatehouseClient
    let reason: SignOutReason?
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
            if let error { Text(error.localizedDescription).foregroundStyle(.red) }
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
        .sheet(isPresented: $isRegistering) { RegisterView(client: client) }
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
