import Crypto

/// Where somebody was who did something, and with which client: as the client says, except the address.
struct AuditOrigin: Sendable, Equatable {
    var address: String?
    var userAgent: String?
    /// The device's own name, or else its model.
    var device: String?
    var appVersion: String?

    /// In characters, of each field.
    static let maximumLength = 200

    init(address: String? = nil, userAgent: String? = nil, device: String? = nil, appVersion: String? = nil) {
        self.address = Self.shown(address)
        self.userAgent = Self.shown(userAgent)
        self.device = Self.shown(device)
        self.appVersion = Self.shown(appVersion)
    }

    /// Proves, to who has the salt, that an entry was made with this origin. Without the salt it tells nothing: there
    /// are so few addresses that one could try all.
    func digest(salt: [UInt8]) -> [UInt8] {
        var fields = AuditFields()
        fields.append(salt)
        for field in [address, userAgent, device, appVersion] { fields.append(field) }
        return Array(SHA256.hash(data: fields.bytes))
    }

    /// Bounded, and without what a reader would not see.
    static func shown(_ text: String?) -> String? {
        guard let text, !text.isEmpty else { return nil }
        var visible = String.UnicodeScalarView()
        visible.append(contentsOf: text.unicodeScalars.lazy.prefix(maximumLength).filter { !Text.isDeceptive($0) })
        return visible.isEmpty ? nil : String(visible)
    }
}
