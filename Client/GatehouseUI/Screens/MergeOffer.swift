#if canImport(SwiftUI)
    import Combine
    import Foundation
    import GatehouseClient
    import SwiftUI

    /// An offer to merge the signed-in account with the one that has verified the same identifier.
    struct MergeOffer: Identifiable, Equatable {
        /// The signed-in user's.
        let id: UUID
        /// The kind of the identifier.
        let kind: IdentifierKind

        /// `nil` without a conflict.
        init?(_ user: GatehouseClient.User, kinds: [IdentifierKind]) {
            guard let kind = kinds.first else { return nil }
            id = user.id
            self.kind = kind
        }
    }

    struct MergeOfferSheet: ViewModifier {
        @ObservedObject var session: AppSession
        @Environment(\.locale) private var locale

        func body(content: Content) -> some View {
            let texts = Texts(locale)
            content.sheet(
                item: Binding(get: { session.mergeOffer }, set: { session.mergeOffer = $0 }),
                onDismiss: { session.mergeOfferClosed() }
            ) { offer in
                SheetScreen(texts: texts) {
                    Text(verbatim: texts[.conflictMessage])
                        .padding()
                        .accessibilityIdentifier("gatehouse.merge.message")
                    CodeView(client: session.client, mergingBy: offer.kind) { session.mergeOffer = nil }
                }
                .reauthentication(session)
            }
        }
    }

    extension CodeView {
        /// Merges the account with the one that has verified an identifier, with a code that is sent there.
        init(client: GatehouseClient, mergingBy kind: IdentifierKind, done: @escaping @MainActor () -> Void) {
            self.init(
                client: client, title: .merge, purpose: .merge, kind: kind, verify: client.merge, done: done)
        }
    }
#endif
