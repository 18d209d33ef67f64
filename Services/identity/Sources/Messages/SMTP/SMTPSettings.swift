import Foundation
import NIOSSL
import Settings

/// Where mail is handed in, and as whom.
struct SMTPSettings: Sendable {
    var host: String
    var port: Int
    var security: SMTPDialogue.Security
    var login: SMTPLogin?
    var author: MailAuthor
    /// `nil` without TLS.
    var tls: NIOSSLContext?

    /// Reads `smtpURL`, `smtpFrom` and `smtpAuthoritiesFile`; what is wrong is noted there.
    /// - Returns: `nil` where mail is not handed in, or something is wrong.
    static func read(_ settings: Settings) -> SMTPSettings? {
        let url = settings.optionalString("smtpURL", secret: true)
        let from = settings.optionalString("smtpFrom")
        let authorities = settings.optionalFile("smtpAuthoritiesFile")
        guard let url else {
            if from != nil { settings.problem("smtpFrom", "is set, but smtpURL is not") }
            return nil
        }
        guard let from else {
            settings.problem("smtpFrom", "is not set, but smtpURL is")
            return nil
        }
        guard let place = settings.read("smtpURL", from: url, { try Place($0) }),
            let author = settings.read("smtpFrom", from: from, { try MailAuthor($0) })
        else { return nil }
        var tls: NIOSSLContext?
        if place.security != .none {
            do {
                var configuration = TLSConfiguration.makeClientConfiguration()
                if let authorities {
                    configuration.trustRoots = .certificates(
                        try NIOSSLCertificate.fromPEMBytes(Array(authorities.utf8)))
                }
                tls = try NIOSSLContext(configuration: configuration)
            } catch {
                settings.problem("smtpAuthoritiesFile", "holds no certificates of authorities in PEM")
                return nil
            }
        }
        return SMTPSettings(
            host: place.host, port: place.port, security: place.security, login: place.login, author: author, tls: tls)
    }

    /// `smtps://USER:PASSWORD@HOST:PORT`, `smtp://…` with STARTTLS, or `smtp+plain://…` for a server on this machine.
    private struct Place {
        var host: String
        var port: Int
        var security: SMTPDialogue.Security
        var login: SMTPLogin?

        init(_ text: String) throws(Refusal) {
            // The address holds a password: no message repeats it.
            guard let parts = URLComponents(string: text), parts.namesServer, let host = parts.host,
                let scheme = parts.scheme, let security = Self.schemes[scheme], ["", "/"].contains(parts.path),
                parts.query == nil
            else { throw Refusal("must be smtps://USER:PASSWORD@HOST:PORT or smtp://USER:PASSWORD@HOST:PORT") }
            self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
            self.security = security.kind
            port = parts.port ?? security.port
            if security.kind == .none, !["localhost", "127.0.0.1", "::1"].contains(self.host) {
                throw Refusal("may begin with smtp+plain:// only for a server on this machine")
            }
            switch (parts.user, parts.password) {
            case (let user?, let password?): login = SMTPLogin(user: user, password: password)
            case (nil, nil): break
            default: throw Refusal("must have both a user and a password, or neither")
            }
        }

        private static let schemes: [String: (kind: SMTPDialogue.Security, port: Int)] = [
            "smtps": (.implicit, 465), "smtp": (.startTLS, 587), "smtp+plain": (.none, 25),
        ]
    }
}
