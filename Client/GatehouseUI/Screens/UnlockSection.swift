#if canImport(SwiftUI)
    import Combine
    import Foundation
    public import GatehouseClient
    public import SwiftUI

    /// The switch with which the user locks the app, for ``AccountView`` or the app's settings.
    ///
    /// ```swift
    /// AccountView(session: session) { UnlockSection(session: session) }
    /// ```
    ///
    /// The accessibility identifiers of its elements begin with `gatehouse.lock.`.
    public struct UnlockSection: View {
        @ObservedObject private var session: AppSession
        @StateObject private var model: TaskModel<ButtonForm<UnlockPolicy>>
        @Environment(\.locale) private var locale
        private let policy: UnlockPolicy

        /// - Parameter policy: how the user unlocks the session if the switch is on.
        public init(session: AppSession, policy: UnlockPolicy = .biometricsOrPasscode) {
            self.session = session
            self.policy = policy
            _model = StateObject(wrappedValue: TaskModel(unlockPolicyOf: session))
        }

        public var body: some View {
            let texts = Texts(locale)
            Section {
                Toggle(isOn: isOn) { Text(verbatim: texts[shownPolicy.lockSetting]) }
                    .showsTask(of: model, texts)
                    .accessibilityIdentifier("gatehouse.lock.setting")
                if session.unlockPolicy != .notRequired && !session.client.session.isProtected {
                    NoteText(text: texts[shownPolicy.lockMissing])
                        .accessibilityIdentifier("gatehouse.lock.missing")
                }
            }
        }

        /// The policy in effect, or the one that the switch sets.
        private var shownPolicy: UnlockPolicy { session.unlockPolicy == .notRequired ? policy : session.unlockPolicy }

        private var isOn: Binding<Bool> {
            Binding(
                get: { session.unlockPolicy != .notRequired },
                set: { model.begin($0 ? policy : .notRequired) })
        }
    }

    extension TaskModel where Form == ButtonForm<UnlockPolicy> {
        /// A user who closes the system's dialog sees no error, and the switch stays as it was.
        convenience init(unlockPolicyOf session: AppSession) {
            self.init(ButtonForm()) { policy throws(GatehouseError) in
                do throws(GatehouseError) {
                    try await session.setUnlockPolicy(policy)
                } catch {
                    throw error.kind == .locked ? GatehouseError(.cancelled) : error
                }
            }
        }
    }
#endif
