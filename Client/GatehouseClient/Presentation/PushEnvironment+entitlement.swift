public import GatehouseContracts

extension PushEnvironment {
    /// The environment of a build's device tokens, from its entitlement `aps-environment`: `development` or
    /// `production`.
    ///
    /// An app cannot read its own entitlements. Use one build setting as the value of both the entitlement and a key in
    /// `Info.plist`, and pass the key's value here. An App Store build that registers its tokens for the sandbox
    /// receives no messages.
    ///
    /// - Returns: `nil` for any other value, and for `nil`.
    public init?(entitlement: String?) {
        switch entitlement {
        case "development": self = .sandbox
        case "production": self = .production
        default: return nil
        }
    }
}
