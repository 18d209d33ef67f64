import Foundation

/// What this library reads of an identity token. Whether it is genuine only the server decides.
enum AppleIdentityToken {
    /// Apple's name for the user (`sub`), by which the system is asked later whether they still consent; the same that
    /// `ASAuthorizationAppleIDCredential.user` says.
    static func subject(of token: String) -> String? {
        struct Claims: Decodable {
            var sub: String
        }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        var base64 = parts[1].replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        base64 += String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
        return Data(base64Encoded: base64).flatMap { try? JSONDecoder().decode(Claims.self, from: $0) }?.sub
    }
}
