#if canImport(SwiftUI)
    public import Combine
    public import Foundation
    import GatehouseClient
    public import SwiftUI

    /// The gate's screen for a locked session. The accessibility identifiers of its elements begin with
    /// `gatehouse.unlock.`.
    public struct UnlockView: View {
        @ObservedObject private var model: UnlockModel
        @Environment(\.locale) private var locale
        @Environment(\.gatehouseStyle) private var style

        /// - Parameter model: the model that the gate passes to its unlock screen.
        public init(model: UnlockModel) { self.model = model }

        public var body: some View {
            let texts = Texts(locale)
            CenteredScreen {
                VStack(spacing: style.spacing) {
                    Image(systemName: "lock.fill")
                        .font(.largeTitle)
                        .accessibilityHidden(true)
                    Text(verbatim: texts[.locked])
                        .font(style.titleFont)
                        .accessibilityAddTraits(.isHeader)
                    if let message = model.message {
                        Text(verbatim: message)
                            .multilineTextAlignment(.center)
                            .accessibilityIdentifier("gatehouse.unlock.error")
                    }
                    Button(texts[.unlock]) { Task { await model.unlock(locale: locale) } }
                        .buttonStyle(.borderedProminent)
                        .controlSize(.large)
                        .disabled(model.isUnlocking)
                        .accessibilityIdentifier("gatehouse.unlock.submit")
                    Button(texts[.signInInstead]) { model.signsIn = true }
                        .disabled(model.isUnlocking)
                        .accessibilityIdentifier("gatehouse.unlock.signIn")
                }
                .padding()
            }
            .styledScreen(texts)
        }
    }

    /// The unlock screen, or the sign-in screen that the user has chosen instead. The dialog opens once each time the
    /// unlock screen appears in the foreground, and each time the app returns from the background. The dialog itself
    /// makes the app inactive, but does not move it to the background.
    struct LockedScreen<SignIn: View, Unlock: View, Launch: View>: View {
        @ObservedObject private var session: AppSession
        private let screens: GateScreens<SignIn, Unlock, Launch>
        @Environment(\.locale) private var locale
        @StateObject private var model: UnlockModel

        init(session: AppSession, screens: GateScreens<SignIn, Unlock, Launch>) {
            self.session = session
            self.screens = screens
            _model = StateObject(wrappedValue: UnlockModel(session: session))
        }

        var body: some View {
            let texts = Texts(locale)
            if model.signsIn {
                VStack(spacing: 0) {
                    Button(texts[.back]) { model.signsIn = false }
                        .padding()
                        .frame(maxWidth: .infinity, alignment: .leading)
                        .accessibilityIdentifier("gatehouse.unlock.back")
                    screens.signIn(session, nil)
                }
                .styledScreen(texts)
            } else {
                screens.unlock(model)
                    .task(id: session.life.isInBackground) {
                        if !session.life.isInBackground { await model.unlock(locale: locale) }
                    }
            }
        }
    }

    /// The state and the actions of an unlock screen.
    ///
    /// ```swift
    /// struct UnlockScreen: View {
    ///     @ObservedObject var model: UnlockModel
    ///
    ///     var body: some View {
    ///         if let message = model.message { Text(message) }
    ///         Button("Unlock") { Task { await model.unlock() } }.disabled(model.isUnlocking)
    ///         Button("Sign in instead") { model.signsIn = true }
    ///     }
    /// }
    /// ```
    @MainActor
    public final class UnlockModel: ObservableObject {
        /// Why the last attempt failed, in the user's language. `nil` if the user has cancelled it.
        @Published public private(set) var message: String?
        /// Whether the system's dialog is open.
        @Published public private(set) var isUnlocking = false
        /// Whether the gate shows the sign-in screen instead, below a button that leads back. The model sets it if
        /// another attempt would fail too.
        @Published public var signsIn = false
        private let session: AppSession

        /// Creates the model of a locked session. The gate creates its own; use this for previews.
        ///
        /// - Parameter session: the session to unlock.
        public init(session: AppSession) { self.session = session }

        /// Shows the system's dialog. The gate has shown it once when the unlock screen appeared.
        ///
        /// - Parameter locale: the language of the dialog and of ``message``, by default the app's.
        public func unlock(locale: Locale = .current) async {
            guard !isUnlocking else { return }
            isUnlocking = true
            defer { isUnlocking = false }
            message = nil
            let texts = Texts(locale)
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
#endif
