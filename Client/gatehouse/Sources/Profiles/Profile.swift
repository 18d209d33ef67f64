import Foundation

/// A server, and how this installation calls itself there. The session is kept beside it, by the library.
struct Profile: Sendable, Equatable, Codable {
    /// The gateway's address, without a slash at its end.
    var url: URL
    /// By which the server knows a device on which somebody has signed in before.
    var installationID: UUID

    init(url: URL, installationID: UUID = UUID()) {
        self.url = Self.folded(url)
        self.installationID = installationID
    }

    static func folded(_ url: URL) -> URL {
        var text = url.absoluteString
        while text.hasSuffix("/") { text.removeLast() }
        return URL(string: text) ?? url
    }
}
