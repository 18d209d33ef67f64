import Foundation
import Settings

/// An address of the team's own that is told of something, and the secret by which it knows who tells.
struct HookSettings: Sendable {
    var url: URL
    var secret: String

    /// In production an address on another machine begins with `https://`, unless `IDENTITY_HOOKS_TLS` is `optional`:
    /// hooks carry codes and reset tokens.
    ///
    /// - Returns: `nil` where neither is set; one without the other is a problem.
    static func read(_ settings: Settings, url urlKey: String, secret secretKey: String) -> HookSettings? {
        let url = settings.optionalString(urlKey) == nil ? nil : settings.url(urlKey)
        let secret = settings.optionalString(secretKey, secret: true)
        if let url {
            let isLocal = ["localhost", "127.0.0.1", "::1", "[::1]"].contains(url.host(percentEncoded: false) ?? "")
            settings.requireTLS(
                of: urlKey, by: "hooksTLS", isProtected: url.scheme?.lowercased() == "https" || isLocal,
                remedy: "begin it with https://")
        }
        switch (url, secret) {
        case (let url?, let secret?): return HookSettings(url: url, secret: secret)
        case (_?, nil): settings.problem(secretKey, "is not set, but \(urlKey) is")
        case (nil, _?): settings.problem(urlKey, "is not set, but \(secretKey) is")
        case (nil, nil): break
        }
        return nil
    }
}
