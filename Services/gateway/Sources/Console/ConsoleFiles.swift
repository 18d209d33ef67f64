import Crypto
import Foundation
import NIOCore

/// The operators' console: a page with its script, built into the gateway. It can do what the admin API does for whoever
/// signs in, and nothing else.
enum ConsoleFiles {
    struct File: Sendable {
        let name: String
        let contentType: String
        /// Shared by all event loops.
        let content: ByteBuffer
        let entityTag: String
    }

    /// What says where the API is. It is made of the settings, and lies in no folder.
    static let settingsName = "settings.json"

    static let page = file(("console.html", PackageResources.console_html))

    /// What the page loads: what else stands in the folder `Files`.
    static let parts: [File] = [
        ("console.css", PackageResources.console_css), ("icon.svg", PackageResources.icon_svg),
        ("api.js", PackageResources.api_js), ("audit.js", PackageResources.audit_js),
        ("dialogs.js", PackageResources.dialogs_js), ("elements.js", PackageResources.elements_js),
        ("chart.js", PackageResources.chart_js), ("identifiers.js", PackageResources.identifiers_js),
        ("overview.js", PackageResources.overview_js),
        ("main.js", PackageResources.main_js), ("notices.js", PackageResources.notices_js),
        ("person.js", PackageResources.person_js), ("proof.js", PackageResources.proof_js),
        ("rights.js", PackageResources.rights_js), ("session.js", PackageResources.session_js),
        ("sessions.js", PackageResources.sessions_js), ("signin.js", PackageResources.signin_js),
        ("users.js", PackageResources.users_js), ("words.js", PackageResources.words_js),
    ].map(file)

    private static func file(_ source: (name: String, bytes: [UInt8])) -> File {
        let digest = Data(SHA256.hash(data: source.bytes).prefix(16)).base64EncodedString()
        return File(
            name: source.name, contentType: contentType(of: source.name), content: ByteBuffer(bytes: source.bytes),
            entityTag: "\"\(digest)\"")
    }

    private static func contentType(of name: String) -> String {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "svg": "image/svg+xml"
        default: "text/javascript; charset=utf-8"
        }
    }
}
