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

extension ConsoleFiles {
    /// - Parameters:
    ///   - path: `/console`, or one segment below it.
    ///   - known: the value of `If-None-Match`.
    ///   - basePath: where the API is.
    /// - Returns: `nil` where there is no such file.
    static func response(
        to path: UnsafeRawBufferPointer, known: UnsafeRawBufferPointer?, basePath: String
    ) -> LocalResponse? {
        let rest = path.dropFirst(BuiltInRoutes.consolePath.utf8.count)
        guard !rest.isEmpty else { return page.response(to: known) }
        let name = rest.dropFirst()
        if name.elementsEqual(settingsName.utf8) {
            // A base path has no character that JSON would escape.
            return LocalResponse(
                status: 200, fields: fields(cache: "no-store"), body: .text(#"{"basePath":"\#(basePath)"}"#))
        }
        return parts.first { name.elementsEqual($0.name.utf8) }?.response(to: known)
    }

    /// Everything comes from here, and nothing that is written into the page can be run. No page of another origin, nor
    /// one of this origin that does not say the same, holds on to its window.
    fileprivate static func fields(cache: String) -> String {
        """
        Cache-Control: \(cache)\r
        Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
        img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
        require-trusted-types-for 'script'; trusted-types 'none'\r
        Cross-Origin-Opener-Policy: same-origin\r
        Cross-Origin-Resource-Policy: same-origin\r
        Referrer-Policy: no-referrer\r
        X-Content-Type-Options: nosniff\r

        """
    }
}

extension ConsoleFiles.File {
    /// Asked for each time, and sent when it has changed: files of two versions do not go together.
    fileprivate func response(to known: UnsafeRawBufferPointer?) -> LocalResponse {
        let fields = "ETag: \(entityTag)\r\n" + ConsoleFiles.fields(cache: "no-cache")
        if let known, PublicDocument.names(known, entityTag) { return LocalResponse(status: 304, fields: fields) }
        return LocalResponse(status: 200, fields: fields, contentType: contentType, body: .document(content))
    }
}
