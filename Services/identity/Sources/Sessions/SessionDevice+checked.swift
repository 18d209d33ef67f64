import Contracts
import Foundation

extension SessionDevice {
    /// In characters, of each field.
    static let maximumLength = 200

    /// Refuses text that could not be shown: the user sees it in the list of sessions.
    /// - Throws: `INVALID_REQUEST` naming the field.
    func checked() throws(Problem) -> SessionDevice {
        let fields = [
            ("installationId", installationId), ("name", name), ("model", model), ("osVersion", osVersion),
            ("appVersion", appVersion), ("deviceToken", deviceToken),
        ]
        for case (let field, let text?) in fields {
            guard text.utf8.count <= 4 * Self.maximumLength, text.count <= Self.maximumLength,
                !text.unicodeScalars.contains(where: Text.isDeceptive)
            else {
                throw .invalid(
                    "device.\(field)", "This is longer than \(Self.maximumLength) characters or cannot be shown.")
            }
        }
        return self
    }
}
