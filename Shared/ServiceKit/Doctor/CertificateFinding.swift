public import Foundation

/// What is left of a certificate's life.
public enum CertificateFinding {
    /// Seconds before its end at which a certificate should have been renewed: authorities that renew by ACME do so a
    /// month before.
    static let soon: TimeInterval = 21 * 86_400
    static let urgent: TimeInterval = 3 * 86_400

    public static func finding(_ path: String, expiresAt: Date, now: Date = .now) -> Finding {
        finding(
            "The certificate in \(path)", expiresAt, now, expired: "clients refuse to connect",
            remedy: "Renew it and put both files in place; they are read again within a second.")
    }

    /// As the other, for a certificate that is shown to the services.
    static func finding(of server: TLSServer, expiresAt: Date, now: Date = .now) -> Finding {
        finding(
            "The certificate of \(server.what) at \(server.host):\(server.port)", expiresAt, now,
            expired: "no service connects any more",
            remedy: "Renew it at the server, and have the server read it (docs/operations/changes.md).")
    }

    private static func finding(
        _ subject: String, _ expiresAt: Date, _ now: Date, expired: String, remedy: String
    ) -> Finding {
        let left = expiresAt.timeIntervalSince(now)
        if left <= 0 { return .problem("\(subject) expired \(KeyAge.days(-left)) ago: \(expired).", remedy: remedy) }
        let text = "\(subject) expires in \(KeyAge.days(left))."
        if left < urgent { return .problem(text, remedy: remedy) }
        return left < soon ? .warning(text, remedy: remedy) : .fine(text)
    }
}
