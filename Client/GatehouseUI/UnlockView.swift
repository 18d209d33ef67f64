#if canImport(SwiftUI)
    import Combine
    import Foundation
    import GatehouseClient
    import SwiftUI

    #if canImport(LocalAuthentication)
        import LocalAuthentication
    #endif

    /// The unlock screen of a session that requires biometrics. It opens the dialog once each time it appears, and each
    /// time the app returns from the background. The dialog itself makes the app inactive, but does not move it to the
    /// background.
    struct UnlockView: View {
        @ObservedObject private var session: AppSession
        private let options: LoginView.Options
        @Environment(\.locale) private var locale
        @StateObject private var model: UnlockModel

        init(session: AppSession, options: LoginView.Options) {
            self.session = session
            self.options = options
            _model = StateObject(wrappedValue: UnlockModel(session: session))
        }

        var body: some View {
            let texts = Texts(locale)
            Group {
                if model.signsIn {
                    VStack(spacing: 0) {
                        Button(texts[.back]) { model.signsIn = false }
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
                if let message = model.message {
                    Text(verbatim: message)
                        .multilineTextAlignment(.center)
                        .accessibilityIdentifier("gatehouse.unlock.error")
                }
                Button(texts[.unlock]) { Task { await model.unlock(texts) } }
                    .buttonStyle(.borderedProminent)
                    .controlSize(.large)
                    .disabled(model.isUnlocking)
                    .accessibilityIdentifier("gatehouse.unlock.submit")
                Button(texts[.signInInstead]) { model.signsIn = true }
                    .disabled(model.isUnlocking)
                    .accessibilityIdentifier("gatehouse.unlock.signIn")
            }
            .padding()
            .task(id: session.life.isInBackground) {
                if !session.life.isInBackground { await model.unlock(texts) }
            }
        }
    }

    /// Authenticates the user for ``UnlockView``.
    @MainActor
    final class UnlockModel: ObservableObject {
        @Published private(set) var message: String?
        @Published private(set) var isUnlocking = false
        /// Whether the sign-in screen is shown instead.
        @Published var signsIn = false
        private let session: AppSession

        init(session: AppSession) { self.session = session }

        func unlock(_ texts: Texts) async {
            guard !isUnlocking else { return }
            isUnlocking = true
            defer { isUnlocking = false }
            message = nil
            do throws(TokenStoreError) {
                try await session.client.session.authenticate(reason: texts[.unlockReason])
            } catch {
                switch UnlockFailure(error.code, obstacle: session.obstacle()) {
                case .silent: break
                case .text(let text): show(texts[text])
                case .error: show(GatehouseError(.storage).message(in: texts.language))
                case .signIn: signsIn = true
                }
                return
            }
            do throws(GatehouseError) {
                try await session.client.session.start()
            } catch  where error.kind != .locked {
                show(error.message(in: texts.language))
            } catch {
                // The device was locked again, and this screen remains.
            }
        }

        private func show(_ text: String) {
            message = text
            Announcement.post(text)
        }
    }

    extension UnlockObstacle {
        /// The device's current obstacle; `nil` if it would show the dialog. It has to be checked separately, because
        /// the Keychain returns the same error for a locked-out device and for a finger that was not recognized.
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
