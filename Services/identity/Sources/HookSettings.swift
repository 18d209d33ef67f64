import Foundation
import Settings

/// An address of the team's own that is told of something, and the secret by which it knows who tells.
struct HookSettings: Sendable {
    var url: URL
    var secret: String

    /// - Returns: `nil` where neither is set; one without the other is a problem.
    static func read(_ settings: Settings, url urlKey: String, secret secretKey: String) -> HookSettings? {
        let url = settings.optionalString(urlKey) == nil ? nil : settings.url(urlKey)
        let secret = settings.optionalString(secretKey, secret: true)
        switch (url, secret) {
        case (let url?, let secret?): return HookSettings(url: url, secret: secret)
        case (_?, nil): settings.problem(secretKey, "is not set, but \(urlKey) is")
        case (nil, _?): settings.problem(urlKey, "is not set, but \(secretKey) is")
        case (nil, nil): break
        }
        return nil
    }
}
