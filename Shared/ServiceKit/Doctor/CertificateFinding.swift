public import Foundation

/// What is left of a certificate's life.
public enum CertificateFinding {
    /// Seconds before its end at which a certificate should have been renewed: authorities that renew by ACME do so a
    /// month before.
    static let soon: TimeInterval = 21 * 86_400
    static let urgent: TimeInterval = 3 * 86_400

    public static func finding(_ path: String, expiresAt: Date, now: Date = .now) -> Finding {
        let left = expiresAt.timeIntervalSince(now)
        let remedy = "Renew it and put both files in place; they are read again within a second."
        if left <= 0 {
            return .problem(
                "The certificate in \(path) expired \(KeyAge.days(-left)) ago: clients refuse to connect.",
                remedy: remedy)
        }
        let text = "The certificate in \(path) expires in \(KeyAge.days(left))."
        if left < urgent { return .problem(text, remedy: remedy) }
        return left < soon ? .warning(text, remedy: remedy) : .fine(text)
    }
}
