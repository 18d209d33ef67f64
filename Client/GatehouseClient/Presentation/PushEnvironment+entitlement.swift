public import Contracts

extension PushEnvironment {
    /// Where Apple gives a build its device tokens, by its entitlement `aps-environment`: `development` or `production`.
    ///
    /// An app cannot read its own entitlements. Let a build setting be the value of both the entitlement and a key of
    /// `Info.plist`, and give this what the latter says: a build for the App Store that registers its tokens as those of
    /// the sandbox gets no message.
    ///
    /// - Returns: `nil` for any other word, and for none.
    public init?(entitlement: String?) {
        switch entitlement {
        case "development": self = .sandbox
        case "production": self = .production
        default: return nil
        }
    }
}
