import Crypto
import Foundation
import NIOCore

/// The operators' console: a page with its script, built into the gateway. It can only do what the admin API permits
/// the signed-in user.
enum ConsoleFiles {
    struct File: Sendable {
        let name: String
        let contentType: String
        /// Shared by all event loops.
        let content: ByteBuffer
        let entityTag: String
    }

    /// The file with the base path of the API. It is made from the settings and is not in the folder `Files`.
    static let settingsName = "settings.json"

    static let page = file(("console.html", PackageResources.console_html))

    /// The files that the page loads: the rest of the folder `Files`.
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
    ///   - basePath: the base path of the API.
    /// - Returns: `nil` where the file does not exist.
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

    /// The page loads only from this origin, and cannot run anything that is written into it. Another page keeps no
    /// reference to its window, unless it has this origin and sends the same policy.
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
    /// Revalidated on each use, because files of two versions do not work together.
    fileprivate func response(to known: UnsafeRawBufferPointer?) -> LocalResponse {
        let fields = "ETag: \(entityTag)\r\n" + ConsoleFiles.fields(cache: "no-cache")
        if let known, PublicDocument.names(known, entityTag) { return LocalResponse(status: 304, fields: fields) }
        return LocalResponse(status: 200, fields: fields, contentType: contentType, body: .document(content))
    }
}
