package import Foundation
package import GatehouseSettings

/// One of the team's own endpoints, and the secret that authenticates Gatehouse's requests to it.
package struct HookSettings: Sendable {
    package var url: URL
    package var secret: String

    /// In production an address on another machine must begin with `https://`, unless `IDENTITY_HOOKS_TLS` is
    /// `optional`, because hooks transmit codes and reset tokens.
    ///
    /// - Parameters:
    ///   - name: the keys begin with it: `messageHook` for `messageHookURL` and `messageHookSecret`.
    ///   - meaning: what the address is for.
    /// - Returns: `nil` where neither is set. One without the other is reported as a problem.
    package static func read(_ settings: Settings, _ name: String, _ meaning: String) -> HookSettings? {
        let (urlKey, secretKey) = ("\(name)URL", "\(name)Secret")
        let url = settings.optionalURL(urlKey, "\(meaning). Needs its secret")
        let secret = settings.optionalString(
            secretKey, secret: true,
            "authenticates Gatehouse's requests to `\(SettingName(service: settings.service, key: urlKey).variable)`")
        settings.requireTLS(
            of: urlKey, by: "hooksTLS", isProtected: url.map(isProtected) ?? true, remedy: "begin it with https://")
        switch (url, secret) {
        case (let url?, let secret?): return HookSettings(url: url, secret: secret)
        case (_?, nil): settings.problem(secretKey, "is not set, but \(urlKey) is")
        case (nil, _?): settings.problem(urlKey, "is not set, but \(secretKey) is")
        case (nil, nil): break
        }
        return nil
    }

    private static func isProtected(_ url: URL) -> Bool {
        let isLocal = ["localhost", "127.0.0.1", "::1", "[::1]"].contains(url.host(percentEncoded: false) ?? "")
        return isLocal || url.scheme?.lowercased() == "https"
    }
}
