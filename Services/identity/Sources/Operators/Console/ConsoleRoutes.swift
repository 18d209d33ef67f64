import Crypto
import GatehouseBytes
import GatehouseServiceContracts
import GatehouseServiceKit
import HTTPTypes
import Hummingbird

/// The operators' console: a page with its scripts, built into the service. It can do what the admin API permits the
/// signed-in user.
enum ConsoleRoutes {
    static func add(to router: ServiceRouter) {
        router.getOrHead("/console") { request, _ in page.response(to: request) }
        router.getOrHead("/console/{file}") { request, context in
            guard let file = files[try context.parameters.require("file")] else { throw Problem(.notFound) }
            return file.response(to: request)
        }
    }

    static let page = document("console.html", PackageResources.console_html)

    /// The files that the page loads, by name: the rest of the folder `Files`.
    static let files = [
        "console.css": PackageResources.console_css, "icon.svg": PackageResources.icon_svg,
        "api.js": PackageResources.api_js, "audit.js": PackageResources.audit_js,
        "chart.js": PackageResources.chart_js, "dialogs.js": PackageResources.dialogs_js,
        "elements.js": PackageResources.elements_js, "identifiers.js": PackageResources.identifiers_js,
        "main.js": PackageResources.main_js, "notices.js": PackageResources.notices_js,
        "overview.js": PackageResources.overview_js, "person.js": PackageResources.person_js,
        "polling.js": PackageResources.polling_js, "proof.js": PackageResources.proof_js,
        "pushes.js": PackageResources.pushes_js, "rights.js": PackageResources.rights_js,
        "session.js": PackageResources.session_js, "sessions.js": PackageResources.sessions_js,
        "signin.js": PackageResources.signin_js, "users.js": PackageResources.users_js,
        "words.js": PackageResources.words_js,
    ].reduce(into: [:]) { $0[$1.key] = document($1.key, $1.value) }

    /// The page loads from its own origin only, and the browser runs no script and no markup that is written into it.
    /// A page of another origin keeps no reference to its window. Clients revalidate each file on each use, because
    /// files of two versions do not work together.
    private static func document(_ name: String, _ content: [UInt8]) -> TaggedDocument {
        let type =
            switch name.split(separator: ".").last {
            case "html": "text/html; charset=utf-8"
            case "css": "text/css; charset=utf-8"
            case "svg": "image/svg+xml"
            default: "text/javascript; charset=utf-8"
            }
        return TaggedDocument(
            content, tag: Base64URL.string(Array(SHA256.hash(data: content).prefix(16))),
            fields: [
                .contentType: type,
                .cacheControl: "no-cache",
                .contentSecurityPolicy: """
                default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
                base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                require-trusted-types-for 'script'; trusted-types 'none'
                """,
                .crossOriginOpenerPolicy: "same-origin",
                .crossOriginResourcePolicy: "same-origin",
                .referrerPolicy: "no-referrer",
                .xContentTypeOptions: "nosniff",
            ])
    }
}

extension HTTPField.Name {
    fileprivate static let crossOriginOpenerPolicy = Self("Cross-Origin-Opener-Policy")!
    fileprivate static let referrerPolicy = Self("Referrer-Policy")!
}
