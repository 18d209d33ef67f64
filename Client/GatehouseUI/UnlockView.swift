#if canImport(SwiftUI)
    import Foundation
    import GatehouseClient
    import SwiftUI

    /// Before a session that only its user's finger or face opens. The dialog comes by itself, once.
    struct UnlockView: View {
        @ObservedObject var session: AppSession
        let options: LoginView.Options
        @Environment(\.locale) private var locale
        @State private var error: GatehouseError?
        @State private var isAsking = false
        @State private var signsIn = false

        var body: some View {
            if signsIn {
                LoginView(client: session.client, options: options)
            } else {
                let texts = Texts(locale)
                VStack(spacing: 20) {
                    Image(systemName: "lock.fill")
                        .font(.largeTitle)
                        .accessibilityHidden(true)
                    Text(verbatim: texts[.locked])
                        .font(.largeTitle.bold())
                        .accessibilityAddTraits(.isHeader)
                    if let error {
                        Text(verbatim: error.message(in: texts.language))
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
                .environment(\.layoutDirection, texts.direction)
                .task { await unlock(texts) }
            }
        }

        private func unlock(_ texts: Texts) async {
            guard !isAsking else { return }
            isAsking = true
            defer { isAsking = false }
            do throws(GatehouseError) {
                try await session.unlock(reason: texts[.unlockReason])
                error = nil
            } catch {
                // Whoever closed the dialog need not be told.
                self.error = error.kind == .locked || error.kind == .cancelled ? nil : error
            }
        }
    }
#endif
