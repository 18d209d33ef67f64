import Foundation

/// Which servers are shown the user's bearer.
struct BearerScope: Sendable {
    private let home: Origin?
    private let hosts: [[UInt8]]

    init(configuration: GatehouseConfiguration) {
        home = Origin(configuration.baseURL)
        hosts = configuration.bearerHosts.map(Origin.folded)
    }

    /// Whether a request to `url` may carry the bearer: to the base URL's own origin, and by https to the other hosts of
    /// the configuration, each exactly as it is written there (`files.example.com`, `files.example.com:8443`).
    func covers(_ url: URL) -> Bool {
        guard let origin = Origin(url) else { return false }
        if origin == home { return true }
        return origin.isEncrypted
            && hosts.contains { name in
                name == origin.host && origin.port == 443 || name == origin.host + Array(":\(origin.port)".utf8)
            }
    }
}
