import Bytes
import Crypto
import Foundation

/// Taking a change of an identifier back, by whoever reads what is sent to the former one.
///
/// Whoever changed it may have been a thief: with it go the password, which the thief may know, and every way in that
/// is not older than the change by ``suspicion``.
enum IdentifierUndo {
    /// Seconds for which a change may be undone.
    static let lifetime: TimeInterval = 3 * 86_400
    /// Seconds before the change. A thief may have made a way in of their own first.
    static let suspicion: TimeInterval = 3 * 86_400

    /// Whether a way into the account goes when the change is undone.
    /// - Parameters:
    ///   - time: since when it is one; `nil` where it is older than anybody knows.
    ///   - change: when the identifier was changed.
    static func removes(wayInSince time: Date?, ofChangeAt change: Date) -> Bool {
        guard let time else { return false }
        return time >= change.addingTimeInterval(-suspicion)
    }
}

/// A token for undoing a change: 256 random bits, of which the hash is kept.
struct UndoToken: Sendable {
    let text: String
    var digest: [UInt8] { Self.digest(text) }

    init() {
        text = "ghiu_" + Base64URL.string([UInt8].random(count: 32))
    }

    static func digest(_ text: String) -> [UInt8] {
        Array(SHA256.hash(data: Data(text.utf8)))
    }
}
