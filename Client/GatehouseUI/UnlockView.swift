#if canImport(SwiftUI)
    import Foundation
    import GatehouseClient
    import SwiftUI

    #if canImport(LocalAuthentication)
        import LocalAuthentication
    #endif

    /// Before a session that only its user's finger or face opens. The dialog comes by itself, once each time that the
    /// screen is shown.
    struct UnlockView: View {
        @ObservedObject var session: AppSession
        let options: LoginView.Options
        @Environment(\.locale) private var locale
        @State private var message: String?
        @State private var isAsking = false
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
                    .disabled(isAsking)
                    .accessibilityIdentifier("gatehouse.unlock.submit")
                Button(texts[.signInInstead]) { signsIn = true }
                    .disabled(isAsking)
                    .accessibilityIdentifier("gatehouse.unlock.signIn")
            }
            .padding()
            .task { await unlock(texts) }
        }

        private func unlock(_ texts: Texts) async {
            guard !isAsking else { return }
            isAsking = true
            defer { isAsking = false }
            do throws(GatehouseError) {
                try await session.unlock(reason: texts[.unlockReason])
                message = nil
            } catch {
                message = text(of: error, texts)
                if let message { Announcement.post(message) }
            }
        }

        /// Whoever closed the dialog need not be told; whoever never saw one has to be.
        private func text(of error: GatehouseError, _ texts: Texts) -> String? {
            switch error.kind {
            case .cancelled: nil
            case .locked: session.obstacle().map { texts[$0.text] }
            default: error.message(in: texts.language)
            }
        }
    }

    extension UnlockObstacle {
        /// What this device says; `nil` where it would ask. The Keychain answers a device that is locked out as it does a
        /// finger that was not recognized.
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
