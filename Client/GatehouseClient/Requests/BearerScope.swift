import Foundation

/// Which servers are shown the user's bearer.
struct BearerScope: Sendable {
    let configuration: GatehouseConfiguration

    /// Whether a request to `url` may carry the bearer: to the base URL's own origin, and by https to the other hosts of
    /// the configuration, each exactly as it is written there (`files.example.com`, `files.example.com:8443`).
    func covers(_ url: URL) -> Bool {
        guard let origin = Origin(url) else { return false }
        if origin == Origin(configuration.baseURL) { return true }
        return origin.isEncrypted
            && configuration.bearerHosts.contains { host in
                let name = Origin.folded(host)
                return name == origin.host && origin.port == 443
                    || name == origin.host + Array(":\(origin.port)".utf8)
            }
    }
}
