import Foundation
import GatehouseClient
import GatehouseUI
import SwiftUI

/// A link of a message (`IDENTITY_RESET_LINK_URL`, `IDENTITY_UNDO_LINK_URL`), whose token is behind the `#`.
enum MessageLink: Identifiable {
    case resetPassword(token: String)
    case undoChange(token: String)

    var id: String {
        switch self {
        case .resetPassword(let token), .undoChange(let token): token
        }
    }

    init?(_ url: URL) {
        guard let token = url.fragment, !token.isEmpty else { return nil }
        switch url.lastPathComponent {
        case "reset": self = .resetPassword(token: token)
        case "undo": self = .undoChange(token: token)
        default: return nil
        }
    }
}

/// The screen that a link opens.
struct LinkView: View {
    let link: MessageLink
    @Environment(\.dismiss) private var dismiss

    var body: some View {
        NavigationStack {
            screen.toolbar {
                ToolbarItem(placement: .cancellationAction) { Button("Close") { dismiss() } }
            }
        }
    }

    @ViewBuilder
    private var screen: some View {
        switch link {
        case .resetPassword(let token): ResetPasswordView(client: .shop, token: token)
        case .undoChange(let token): UndoIdentifierChangeView(client: .shop, token: token)
        }
    }
}
