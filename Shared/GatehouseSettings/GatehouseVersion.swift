public import Foundation

/// The version of Gatehouse.
public enum GatehouseVersion {
    /// By Semantic Versioning (semver.org). CHANGELOG.md lists the changes of each version.
    public static let number = "0.9.0"

    static let revisionVariable = "GATEHOUSE_REVISION"

    /// The commit that an image was built from; `nil` elsewhere.
    public static func revision(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> String? {
        guard let revision = environment[revisionVariable], !revision.isEmpty else { return nil }
        return revision
    }

    /// `0.9.0`; in an image, which names the commit that it was built from, `0.9.0 (3f2a91c)`.
    public static func description(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> String {
        revision(environment: environment).map { "\(number) (\($0))" } ?? number
    }
}
