#if canImport(SwiftUI)
    import Foundation
    import GatehouseClient
    import SwiftUI

    #if canImport(LocalAuthentication)
        import LocalAuthentication
    #endif

    /// The unlock screen of a session that requires biometrics. It opens the dialog once each time it appears.
    struct UnlockView: View {
        @ObservedObject var session: AppSession
        let options: LoginView.Options
        @Environment(\.locale) private var locale
        @State private var message: String?
        @State private var isUnlocking = false
        @State private var signsIn = false

        var body: some View {
            let texts = Texts(locale)
            Group {
                if signsIn {
                    VStack(spacing: 0) {
                        Button(texts[.back]) { signsIn = false }
                            .padding()
                            .frame(maxWidth: .infinity, alignment: .leading)
                            .accessibilityIdentifier("gatehouse.unlock.back")
                        LoginView(client: session.client, options: options)
                    }
                } else {
                    lock(texts)
                }
            }
            .environment(\.layoutDirection, texts.direction)
        }

        private func lock(_ texts: Texts) -> some View {
            VStack(spacing: 20) {
                Image(systemName: "lock.fill")
                    .font(.largeTitle)
                    .accessibilityHidden(true)
                Text(verbatim: texts[.locked])
                    .font(.largeTitle.bold())
                    .accessibilityAddTraits(.isHeader)
                if let message {
                    Text(verbatim: message)
                        .multilineTextAlignment(.center)
                        .accessibilityIdentifier("gatehouse.unlock.error")
                }
                Button(texts[.unlock]) { Task { await unlock(texts) } }
                    .buttonStyle(.borderedProminent)
                    .controlSize(.large)
                    .disabled(isUnlocking)
                    .accessibilityIdentifier("gatehouse.unlock.submit")
                Button(texts[.signInInstead]) { signsIn = true }
                    .disabled(isUnlocking)
                    .accessibilityIdentifier("gatehouse.unlock.signIn")
            }
            .padding()
            .task { await unlock(texts) }
        }

        private func unlock(_ texts: Texts) async {
            guard !isUnlocking else { return }
            isUnlocking = true
            defer { isUnlocking = false }
            do throws(GatehouseError) {
                try await session.unlock(reason: texts[.unlockReason])
                message = nil
            } catch {
                message = text(of: error, texts)
                if let message { Announcement.post(message) }
            }
        }

        /// The error text. If the user closed the dialog, none is needed. If the system showed no dialog, the text says
        /// why.
        private func text(of error: GatehouseError, _ texts: Texts) -> String? {
            switch error.kind {
            case .cancelled: nil
            case .locked: session.obstacle().map { texts[$0.text] }
            default: error.message(in: texts.language)
            }
        }
    }

    extension UnlockObstacle {
        /// The device's current obstacle; `nil` if it would show the dialog. It has to be checked separately, because
        /// the Keychain returns the same error for a locked-out device and for a finger that was not recognised.
        @MainActor
        static func now() -> UnlockObstacle? {
            #if canImport(LocalAuthentication)
                var error: NSError?
                if LAContext().canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error) { return nil }
                return error?.code == LAError.Code.biometryLockout.rawValue ? .lockedOut : .unavailable
            #else
                return nil
            #endif
        }
    }
#endif
